// SPDX-License-Identifier: Apache-2.0
//
// Memory orders: The writer writes a datagram, then stores head (release). The reader loads head
// (acquire), then reads the datagram. In the other direction, the reader finishes with a datagram,
// then stores tail. The writer loads tail before it overwrites the datagram.
//
// Going to sleep is Dekker's problem. The reader sets its sleep flag, then loads head. The writer
// stores head, then loads the sleep flag. All four accesses are sequentially consistent, so they
// have one total order, in which the later of the two loads comes after both stores. Therefore
// either the reader sees the datagram and does not sleep, or the writer sees the flag and wakes the
// reader. A writer that waits for room and a reader that frees places do the same with tail.
//
// Sequential consistency costs one locked instruction for each batch, not for each datagram: push()
// stores head with release order, and only must_wake_reader(), which is called once for each flush,
// stores it sequentially consistently.
#include "io/memory/shared_memory_queue.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/stream_copy.h"

namespace infold::io {

constexpr std::size_t kLine = 64;
constexpr std::uint32_t kPlacesMax = 1U << 16;
// From this length on, copies bypass the caches. The writer does not read what it wrote, and the
// reader's processor may not share a cache with the writer's. Shorter datagrams travel faster
// through the caches all the same.
constexpr std::size_t kStreamBytesMin = 4096;
// Finishing a streaming copy costs a good part of the copy's own time, so several share it.
constexpr std::uint32_t kStreamsTogether = 4;

// Each word is written by one party, except that the other party clears the two flags. The two
// parties' words are two cache lines apart, because processors fetch lines in pairs.
struct QueueWords {
  std::uint32_t head;
  std::uint32_t writer_waits;
  std::uint32_t apart[30];
  std::uint32_t tail;
  std::uint32_t reader_sleeps;
  std::uint32_t apart_too[30];
};

namespace {

struct Label {
  std::uint32_t bytes;
  std::uint32_t channel;
};
// A place begins on a cache line. With a label of this length, the elements behind a packet's
// header do as well.
constexpr std::size_t kLabelBytes = 32;
static_assert(sizeof(Label) <= kLabelBytes);

using Word = std::atomic_ref<std::uint32_t>;
static_assert(Word::is_always_lock_free, "another process does not share our locks");

std::byte* places_in(std::span<std::byte> memory, const QueueShape& shape) {
  CHECK_THAT(memory.size(), ==, shape.memory_bytes());
  CHECK_THAT(reinterpret_cast<std::uintptr_t>(memory.data()) % kLine, ==, 0);
  CHECK(shape.places > 0 && shape.places <= kPlacesMax);
  CHECK_THAT(shape.places & (shape.places - 1), ==, 0);
  return memory.data() + sizeof(QueueWords);
}

// Copies a part of a datagram unless it is in place already. Returns whether the copy must still be
// finished.
bool copy_part(std::byte* to, std::span<const std::byte> part) {
  if (part.empty() || part.data() == to) return false;
  const bool streams = part.size() >= kStreamBytesMin;
  if (streams) {
    base::stream_copy(to, part.data(), part.size());
  } else {
    std::memcpy(to, part.data(), part.size());
  }
  return streams;
}

// Clears a flag and returns whether it was set. Loads it first, because a load is cheap while the
// flag is clear.
bool take_down(std::uint32_t& flag) {
  return Word(flag).load(std::memory_order_seq_cst) != 0 &&
         Word(flag).exchange(0, std::memory_order_seq_cst) != 0;
}

}  // namespace

std::size_t QueueShape::place_bytes() const {
  return (kLabelBytes + datagram_bytes_max + kLine - 1) / kLine * kLine;
}

std::size_t QueueShape::memory_bytes() const { return sizeof(QueueWords) + places * place_bytes(); }

QueueWriter::QueueWriter(std::span<std::byte> memory, const QueueShape& shape, std::uint32_t start)
    : words_(reinterpret_cast<QueueWords*>(memory.data())),
      places_(places_in(memory, shape)),
      shape_(shape),
      place_bytes_(shape.place_bytes()),
      head_(start),
      tail_seen_(start) {}

bool QueueWriter::has_room() {
  if (broken_) return false;
  if (head_ - tail_seen_ < shape_.places) return true;
  tail_seen_ = Word(words_->tail).load(std::memory_order_acquire);
  broken_ = head_ - tail_seen_ > shape_.places;
  return head_ - tail_seen_ < shape_.places;
}

std::span<std::byte> QueueWriter::place() {
  if (!has_room()) return {};
  return {next_place() + kLabelBytes, shape_.datagram_bytes_max};
}

bool QueueWriter::push(std::uint32_t channel, std::span<const std::byte> head,
                       std::span<const std::byte> payload) {
  const std::size_t bytes = head.size() + payload.size();
  if (bytes > shape_.datagram_bytes_max || !has_room()) return false;
  const Label label = {static_cast<std::uint32_t>(bytes), channel};
  std::byte* const to = next_place() + kLabelBytes;
  std::memcpy(next_place(), &label, sizeof(label));
  const bool head_streams = copy_part(to, head);
  const bool streams = copy_part(to + head.size(), payload) || head_streams;
  ++head_;
  unannounced_ = true;
  unfinished_ += streams ? 1 : 0;
  if (streams && unfinished_ < kStreamsTogether) return true;
  finish_streams();
  Word(words_->head).store(head_, std::memory_order_release);
  return true;
}

void QueueWriter::finish_streams() {
  if (std::exchange(unfinished_, 0) > 0) base::finish_streams();
}

bool QueueWriter::must_wake_reader() {
  if (!unannounced_) return false;
  unannounced_ = false;
  finish_streams();
  Word(words_->head).store(head_, std::memory_order_seq_cst);
  return take_down(words_->reader_sleeps);
}

bool QueueWriter::await_room() {
  Word(words_->writer_waits).store(1, std::memory_order_seq_cst);
  tail_seen_ = Word(words_->tail).load(std::memory_order_seq_cst);
  broken_ = broken_ || head_ - tail_seen_ > shape_.places;
  if (broken_ || head_ - tail_seen_ == shape_.places) return true;
  Word(words_->writer_waits).store(0, std::memory_order_relaxed);
  return false;
}

QueueReader::QueueReader(std::span<std::byte> memory, const QueueShape& shape, std::uint32_t start)
    : words_(reinterpret_cast<QueueWords*>(memory.data())),
      places_(places_in(memory, shape)),
      shape_(shape),
      place_bytes_(shape.place_bytes()),
      tail_(start),
      tail_told_(start),
      head_seen_(start) {}

std::optional<QueueReader::Taken> QueueReader::take() {
  if (broken_) return std::nullopt;
  if (tail_ == head_seen_) {
    head_seen_ = Word(words_->head).load(std::memory_order_acquire);
    broken_ = head_seen_ - tail_ > shape_.places;
    if (broken_ || tail_ == head_seen_) return std::nullopt;
  }
  std::byte* const place = places_ + (tail_ & (shape_.places - 1)) * place_bytes_;
  // Reads the label once, because another rank may change it between the check and the use.
  Label label;
  std::memcpy(&label, place, sizeof(label));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (label.bytes > shape_.datagram_bytes_max || label.channel >= shape_.channels) {
    broken_ = true;
    return std::nullopt;
  }
  ++tail_;
  return Taken{label.channel, {place + kLabelBytes, label.bytes}};
}

bool QueueReader::must_wake_writer() {
  if (tail_ == tail_told_) return false;
  tail_told_ = tail_;
  Word(words_->tail).store(tail_, std::memory_order_seq_cst);
  return take_down(words_->writer_waits);
}

bool QueueReader::may_sleep() {
  if (broken_) return true;
  Word(words_->reader_sleeps).store(1, std::memory_order_seq_cst);
  if (Word(words_->head).load(std::memory_order_seq_cst) == tail_) return true;
  stay_awake();
  return false;
}

void QueueReader::stay_awake() { Word(words_->reader_sleeps).store(0, std::memory_order_relaxed); }

}  // namespace infold::io
