// SPDX-License-Identifier: Apache-2.0
//
// A queue of datagrams in memory that two parties share: one writes, the other reads. Neither
// trusts the shared memory, so each keeps its position in memory of its own. An impossible
// position, length or channel breaks the queue for good; a broken queue accepts and delivers
// nothing. Datagrams are written and read in place, so the other rank may change the bytes at any
// time. A reader must therefore read every field that it acts on only once, as core::parse() does.
//
//   words: head (the writer's), tail (the reader's), who sleeps     places: label, datagram
//
// One thread writes and one reads. A channel is a number that travels with each datagram.
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

  std::size_t place_bytes() const;   // the size of one place
  std::size_t memory_bytes() const;  // the size of a whole queue

  friend bool operator==(const QueueShape&, const QueueShape&) = default;
};

struct QueueWords;

class QueueWriter {
 public:
  // Requires: memory.size() is shape.memory_bytes(). The memory starts on a cache line, was zeroed
  // before either end was made, and outlives the writer. Only tests start at a position other than
  // 0, and they set head and tail to it.
  QueueWriter(std::span<std::byte> memory, const QueueShape& shape, std::uint32_t start = 0);

  bool has_room();
  // The memory for the next datagram. Empty if there is no room.
  std::span<std::byte> place();
  // Copies the datagram unless it was written into place(). Returns false if there is no room or
  // the datagram is too long. A reader that is awake sees a short datagram at once. A long datagram
  // may become visible only with must_wake_reader().
  bool push(std::uint32_t channel, std::span<const std::byte> datagram) {
    return push(channel, datagram, {});
  }
  // Does the same for a datagram whose payload lies elsewhere.
  bool push(std::uint32_t channel, std::span<const std::byte> head,
            std::span<const std::byte> payload);
  // Publishes all pushed datagrams. Returns whether the reader sleeps and must be woken now. Call
  // it after a batch of pushes.
  bool must_wake_reader();
  // Asks the reader to wake the writer once there is room. Returns false if there is room already.
  bool await_room();
  bool is_broken() const { return broken_; }

 private:
  void finish_streams();
  std::byte* next_place() const { return places_ + (head_ & (shape_.places - 1)) * place_bytes_; }

  QueueWords* words_;
  std::byte* places_;
  QueueShape shape_;
  std::size_t place_bytes_;
  std::uint32_t head_ = 0;        // how many datagrams were written in all, modulo 2^32
  std::uint32_t tail_seen_ = 0;   // the reader's tail when it was last read
  std::uint32_t unfinished_ = 0;  // long datagrams that the reader cannot see yet
  bool unannounced_ = false;
  bool broken_ = false;
};

class QueueReader {
 public:
  struct Taken {
    std::uint32_t channel = 0;
    std::span<const std::byte> datagram;
  };

  // Requires the same as QueueWriter().
  QueueReader(std::span<std::byte> memory, const QueueShape& shape, std::uint32_t start = 0);

  // Takes the oldest datagram. Its place stays taken until must_wake_writer().
  std::optional<Taken> take();
  // Frees the places of all taken datagrams. Returns whether the writer waits and must be woken.
  bool must_wake_writer();
  // Announces that the reader will sleep. Returns false if there is a datagram, and then the reader
  // must not sleep.
  bool may_sleep();
  void stay_awake();
  bool is_broken() const { return broken_; }

 private:
  QueueWords* words_;
  std::byte* places_;
  QueueShape shape_;
  std::size_t place_bytes_;
  std::uint32_t tail_ = 0;  // how many datagrams were read in all, modulo 2^32
  std::uint32_t tail_told_ = 0;
  std::uint32_t head_seen_ = 0;
  bool broken_ = false;
};

}  // namespace infold::io
