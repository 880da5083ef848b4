// SPDX-License-Identifier: Apache-2.0
//
// Memory orders. The writer writes a datagram, then stores head (release). The reader loads head
// (acquire), then reads the datagram. Likewise, the reader finishes with a datagram, then stores
// tail, and the writer loads tail before it overwrites the datagram.
//
// Sleeping is Dekker's problem. The reader sets its sleep flag, then loads head. The writer stores
// head, then loads the sleep flag. All four are sequentially consistent and so have one order. The
// later of the two loads comes after both stores. So the reader sees the datagram and does not
// sleep, or the writer sees the flag and wakes the reader. A writer that waits for room and a
// reader that frees places do the same with tail.
//
// That order costs one locked instruction for each batch, not for each datagram. push() stores head
// with release. Only must_wake_reader(), called once for each flush, stores head in that order.
#include "io/memory/shared_memory_queue.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/stream_copy.h"

namespace infold::io {

constexpr std::size_t kLine = 64;
constexpr std::uint32_t kPlacesMax = 1U << 16;
// The writer does not read what it wrote, and the reader may be on a processor that shares no cache
// with the writer's. Of a short datagram, the caches are faster all the same.
constexpr std::size_t kStreamBytesMin = 4096;
// To finish a copy takes as long as a good part of it.
constexpr std::uint32_t kStreamsTogether = 4;

// One party writes each word. Only the two flags are cleared by the other party. The words of the
// parties are two cache lines apart, because processors fetch lines in pairs.
struct QueueControl {
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
// A place begins on a cache line. Behind a packet's header, the elements do, too.
constexpr std::size_t kLabelBytes = 32;
static_assert(sizeof(Label) <= kLabelBytes);

using Word = std::atomic_ref<std::uint32_t>;
static_assert(Word::is_always_lock_free, "another process does not share our locks");

std::byte* places_in(std::span<std::byte> memory, const QueueShape& shape) {
  CHECK_THAT(memory.size(), ==, shape.memory_bytes());
  CHECK_THAT(reinterpret_cast<std::uintptr_t>(memory.data()) % kLine, ==, 0);
  CHECK(shape.places > 0 && shape.places <= kPlacesMax);
  CHECK_THAT(shape.places & (shape.places - 1), ==, 0);
  return memory.data() + sizeof(QueueControl);
}

// Copies it unless it is there already. Returns whether the copy has to be finished.
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

std::size_t QueueShape::memory_bytes() const {
  return sizeof(QueueControl) + places * place_bytes();
}

QueueWriter::QueueWriter(std::span<std::byte> memory, const QueueShape& shape, std::uint32_t start)
    : control_(reinterpret_cast<QueueControl*>(memory.data())),
      places_(places_in(memory, shape)),
      shape_(shape),
      place_bytes_(shape.place_bytes()),
      head_(start),
      tail_seen_(start) {}

bool QueueWriter::has_room() {
  if (broken_) return false;
  if (head_ - tail_seen_ < shape_.places) return true;
  tail_seen_ = Word(control_->tail).load(std::memory_order_acquire);
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
  Word(control_->head).store(head_, std::memory_order_release);
  return true;
}

void QueueWriter::finish_streams() {
  if (std::exchange(unfinished_, 0) > 0) base::finish_streams();
}

bool QueueWriter::must_wake_reader() {
  if (!unannounced_) return false;
  unannounced_ = false;
  finish_streams();
  Word(control_->head).store(head_, std::memory_order_seq_cst);
  return take_down(control_->reader_sleeps);
}

bool QueueWriter::await_room() {
  Word(control_->writer_waits).store(1, std::memory_order_seq_cst);
  tail_seen_ = Word(control_->tail).load(std::memory_order_seq_cst);
  broken_ = broken_ || head_ - tail_seen_ > shape_.places;
  if (broken_ || head_ - tail_seen_ == shape_.places) return true;
  Word(control_->writer_waits).store(0, std::memory_order_relaxed);
  return false;
}

QueueReader::QueueReader(std::span<std::byte> memory, const QueueShape& shape, std::uint32_t start)
    : control_(reinterpret_cast<QueueControl*>(memory.data())),
      places_(places_in(memory, shape)),
      shape_(shape),
      place_bytes_(shape.place_bytes()),
      tail_(start),
      tail_told_(start),
      head_seen_(start) {}

std::optional<QueueReader::Taken> QueueReader::take() {
  if (broken_) return std::nullopt;
  if (tail_ == head_seen_) {
    head_seen_ = Word(control_->head).load(std::memory_order_acquire);
    broken_ = head_seen_ - tail_ > shape_.places;
    if (broken_ || tail_ == head_seen_) return std::nullopt;
  }
  std::byte* const place = places_ + (tail_ & (shape_.places - 1)) * place_bytes_;
  // Reads the label once, because a peer may change it between the check and the use.
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
  Word(control_->tail).store(tail_, std::memory_order_seq_cst);
  return take_down(control_->writer_waits);
}

bool QueueReader::may_sleep() {
  if (broken_) return true;
  Word(control_->reader_sleeps).store(1, std::memory_order_seq_cst);
  if (Word(control_->head).load(std::memory_order_seq_cst) == tail_) return true;
  stay_awake();
  return false;
}

void QueueReader::stay_awake() {
  Word(control_->reader_sleeps).store(0, std::memory_order_relaxed);
}

}  // namespace infold::io
