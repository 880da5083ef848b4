// SPDX-License-Identifier: Apache-2.0
//
// The state that a worker keeps for each slot, and linked lists of slots. The links are part of the
// slots, so that moving a slot takes a few stores and a list needs no memory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/instant.h"

namespace infold::core {

constexpr std::uint16_t kNoSlot = 0xFFFF;

struct WorkerSlot {
  enum class State : std::uint8_t { idle, waiting, resending };
  State state = State::idle;
  // An aggregator said that it has our contribution, so something else is missing.
  bool confirmed = false;
  // The window has been told that this chunk was lost.
  bool loss_noted = false;
  // The next repeat is a query instead of a retransmission.
  bool asks = false;
  // The worker asked about this chunk because a later one came back first, so the answer may have
  // been on its way already.
  bool overtaken = false;
  // This chunk is sent a second time, with codes not below the floors of a REALIGN.
  bool realigned = false;
  // This chunk was sent after the flow was idle and before anything came back, so its wait includes
  // late workers.
  bool opened_burst = false;
  // This chunk was sent in a lull, with nothing else in flight.
  bool alone = false;
  std::uint16_t sends = 0;
  // Sends since an aggregator last said that it lacks our contribution. If there is more than one,
  // a result may answer any of them.
  std::uint16_t tries = 0;
  std::uint16_t previous = kNoSlot;
  std::uint16_t next = kNoSlot;
  std::uint32_t round = 0;     // the round of the chunk in flight, or else of the last one
  std::uint64_t transfer = 0;  // the place of its transfer in the stream's order
  std::uint64_t chunk = 0;     // within the transfer
  base::Instant sent_at;
  base::Instant first_sent_at;
};

class SlotList {
 public:
  bool empty() const { return head_ == kNoSlot; }
  std::uint16_t front() const { return head_; }

  // Requires: the slot is in no list.
  void push_back(std::span<WorkerSlot> slots, std::uint16_t slot) {
    CHECK(slots[slot].next == kNoSlot && tail_ != slot);
    slots[slot].previous = tail_;
    slots[slot].next = kNoSlot;
    (tail_ == kNoSlot ? head_ : slots[tail_].next) = slot;
    tail_ = slot;
  }

  // Requires: the slot is in this list.
  void remove(std::span<WorkerSlot> slots, std::uint16_t slot) {
    const std::uint16_t previous = slots[slot].previous;
    const std::uint16_t next = slots[slot].next;
    CHECK((previous == kNoSlot ? head_ : slots[previous].next) == slot);
    (previous == kNoSlot ? head_ : slots[previous].next) = next;
    (next == kNoSlot ? tail_ : slots[next].previous) = previous;
    slots[slot].previous = slots[slot].next = kNoSlot;
  }

  void clear() { head_ = tail_ = kNoSlot; }

  // Checks that all slots of the list are in this state and linked correctly. Returns their number.
  std::size_t assert_linked(std::span<const WorkerSlot> slots, WorkerSlot::State state) const {
    std::size_t count = 0;
    std::uint16_t previous = kNoSlot;
    for (std::uint16_t slot = head_; slot != kNoSlot; slot = slots[slot].next) {
      CHECK(slots[slot].state == state);
      CHECK_THAT(slots[slot].previous, ==, previous);
      CHECK_THAT(++count, <=, slots.size());
      previous = slot;
    }
    CHECK_THAT(previous, ==, tail_);
    return count;
  }

 private:
  std::uint16_t head_ = kNoSlot;
  std::uint16_t tail_ = kNoSlot;
};

}  // namespace infold::core
