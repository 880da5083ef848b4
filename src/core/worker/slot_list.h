// SPDX-License-Identifier: Apache-2.0
//
// What a worker remembers of each slot, and lists of slots threaded through it, so that moving
// one is a few stores and a list needs no memory of its own.
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
  // An aggregator said that it has our contribution, so whatever is missing was not lost by us.
  bool confirmed = false;
  // The window has heard that this chunk was lost on its way.
  bool loss_noted = false;
  // The next repeat asks how things stand, instead of sending the elements again.
  bool asks = false;
  // Asked about because a later chunk came back first: the answer may have been on its way already.
  bool overtaken = false;
  // This chunk is sent a second time, no finer than the floors that were asked for.
  bool realigned = false;
  // Sent before anything came back since the flow was idle: the wait includes late peers.
  bool opened_burst = false;
  // Sent in a lull, with nothing else in flight.
  bool alone = false;
  std::uint16_t sends = 0;
  // Sends since an aggregator last said that it lacks our contribution. More than one: a result may
  // answer any of them.
  std::uint16_t tries = 0;
  std::uint16_t previous = kNoSlot;
  std::uint16_t next = kNoSlot;
  std::uint32_t round = 0;     // of the chunk in flight, or the last one that came back
  std::uint64_t transfer = 0;  // its place in the stream's order
  std::uint64_t chunk = 0;     // within the transfer
  base::Instant sent_at;
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

  // All of them are in this state, and know their neighbours. Returns how many there are.
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
