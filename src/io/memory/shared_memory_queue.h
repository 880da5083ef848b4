// SPDX-License-Identifier: Apache-2.0
//
// A queue of datagrams in memory that two parties share, one writing and one reading. Nothing is
// kept in that memory that a party needs to trust: each holds its own position itself, and takes
// an impossible position, length or channel as the end: the queue is then broken, for good, and
// neither gives nor takes anything more. A datagram is written and read where it lies, so a peer
// may change its bytes at any time: a reader of it reads what decides once, as core::parse() does.
//
//   control: head (the writer's), tail (the reader's), who sleeps     places: label, datagram
//
// One thread writes, one reads. A channel is a number that travels with each datagram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace infold::io {

struct QueueShape {
  std::uint32_t places = 256;  // a power of two, at most 2^16
  std::uint32_t datagram_bytes_max = 1472;
  std::uint32_t channels = 1;

  std::size_t place_bytes() const;   // of one place
  std::size_t memory_bytes() const;  // of a queue

  friend bool operator==(const QueueShape&, const QueueShape&) = default;
};

struct QueueControl;

class QueueWriter {
 public:
  // Requires: memory.size() is shape.memory_bytes(), on a cache line, zeroed before either end was
  // made, and outlives the writer. Only tests start elsewhere than at 0, with head and tail there.
  QueueWriter(std::span<std::byte> memory, const QueueShape& shape, std::uint32_t start = 0);

  bool has_room();
  // Where the next datagram may be written; empty without room.
  std::span<std::byte> place();
  // Copies what does not lie at place(). False: there was no room, or the datagram is too long. A
  // reader that is awake sees it at once.
  bool push(std::uint32_t channel, std::span<const std::byte> datagram);
  // After pushes: whether the reader sleeps, and is to be woken now.
  bool must_wake_reader();
  // Has the reader wake us when there is room again; false if there already is.
  bool await_room();
  bool is_broken() const { return broken_; }

 private:
  std::byte* next_place() const { return places_ + (head_ & (shape_.places - 1)) * place_bytes_; }

  QueueControl* control_;
  std::byte* places_;
  QueueShape shape_;
  std::size_t place_bytes_;
  std::uint32_t head_ = 0;       // datagrams written in all, modulo 2^32
  std::uint32_t tail_seen_ = 0;  // a value that the reader's had
  bool unannounced_ = false;
  bool broken_ = false;
};

class QueueReader {
 public:
  struct Taken {
    std::uint32_t channel = 0;
    std::span<const std::byte> datagram;
  };

  // As above.
  QueueReader(std::span<std::byte> memory, const QueueShape& shape, std::uint32_t start = 0);

  // The oldest datagram, which stays where it is until it is given back.
  std::optional<Taken> take();
  // Gives back all that was taken; whether the writer waits for that, and is to be woken.
  bool must_wake_writer();
  // Announces that the reader will sleep; false if there is something to read, and it must not.
  bool may_sleep();
  void stay_awake();
  bool is_broken() const { return broken_; }

 private:
  QueueControl* control_;
  std::byte* places_;
  QueueShape shape_;
  std::size_t place_bytes_;
  std::uint32_t tail_ = 0;  // datagrams read in all, modulo 2^32
  std::uint32_t tail_told_ = 0;
  std::uint32_t head_seen_ = 0;
  bool broken_ = false;
};

}  // namespace infold::io
