// SPDX-License-Identifier: Apache-2.0
//
// The future events, in virtual time: a priority queue over storage that is allocated once. Events
// at the same time leave in the order in which they were pushed, so a run is a function of its
// inputs.
//
// A lane takes events in rising order of time, such as the events of one link. They wait in a list
// of their own, and only the first event of each list is in the heap. The heap then has about one
// entry for each link instead of one for each packet, and stays in the L1 cache. The order of pops
// is exactly that of one big heap. Times are not negative.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/instant.h"

namespace infold::sim {

using LaneIndex = std::uint32_t;

template <typename Payload>
class EventQueue {
 public:
  EventQueue(std::uint32_t event_count_max, std::uint32_t lane_count)
      : nodes_(event_count_max), lane_tail_(lane_count, kNone) {
    heap_.reserve(event_count_max);
    for (std::uint32_t i = 0; i < event_count_max; ++i) nodes_[i].next = i + 1;
    nodes_.back().next = kNone;
  }

  bool empty() const { return heap_.empty(); }
  bool full() const { return free_ == kNone; }
  std::uint32_t size() const { return size_; }
  // Requires: !empty().
  base::Instant next_at() const { return time_of(heap_.front().key); }

  void push(base::Instant at, const Payload& payload) { push_heap(add(at, payload, kNoLane)); }

  void push(LaneIndex lane, base::Instant at, const Payload& payload) {
    std::uint32_t& tail = lane_tail_[lane];
    if (tail != kNone && time_of(nodes_[tail].key) > at) {
      push(at, payload);  // this event overtakes its lane, so it goes alone
      return;
    }
    const std::uint32_t index = add(at, payload, lane);
    if (tail == kNone) {
      push_heap(index);
    } else {
      nodes_[tail].next = index;
    }
    tail = index;
  }

  // Removes and returns the event that is due at next_at(). Requires: !empty().
  Payload pop() {
    const std::uint32_t index = heap_.front().node;
    Node& node = nodes_[index];
    const Payload payload = node.payload;
    const std::uint32_t successor = node.lane == kNoLane ? kNone : node.next;
    if (node.lane != kNoLane && successor == kNone) lane_tail_[node.lane] = kNone;
    node.next = free_;
    free_ = index;
    --size_;
    if (successor != kNone) {
      sift_down({nodes_[successor].key, successor});
    } else {
      const Entry last = heap_.back();
      heap_.pop_back();
      if (!heap_.empty()) sift_down(last);
    }
    return payload;
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  static constexpr std::uint32_t kNoLane = ~0U;

  // Combines time and order of pushing in one number, with time in the upper bits. Links that work
  // in step have equal times, so comparing first the times and then the order would need a branch
  // that no processor can predict.
  __extension__ using Key = unsigned __int128;

  static base::Instant time_of(Key key) { return {static_cast<std::int64_t>(key >> 64)}; }

  struct Node {
    Key key = 0;
    Payload payload{};
    std::uint32_t lane = kNoLane;
    std::uint32_t next = kNone;
  };
  struct Entry {
    Key key;
    std::uint32_t node;

    bool before(const Entry& other) const { return key < other.key; }
  };

  std::uint32_t add(base::Instant at, const Payload& payload, std::uint32_t lane) {
    CHECK(free_ != kNone);
    const std::uint32_t index = free_;
    free_ = nodes_[index].next;
    const Key key = Key{static_cast<std::uint64_t>(at.ns)} << 64 | sequence_++;
    nodes_[index] = {key, payload, lane, kNone};
    ++size_;
    return index;
  }

  void push_heap(std::uint32_t index) {
    const Entry entry{nodes_[index].key, index};
    std::size_t hole = heap_.size();
    heap_.push_back(entry);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 2;
      if (!entry.before(heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = entry;
  }

  // Puts `entry` in the first place and restores the order.
  void sift_down(const Entry& entry) {
    std::size_t hole = 0;
    const std::size_t count = heap_.size();
    while (true) {
      std::size_t least = 2 * hole + 1;
      if (least >= count) break;
      // Nodes have two children instead of four, so that choosing the lesser one is an addition and
      // not a branch.
      if (least + 1 < count) least += heap_[least + 1].before(heap_[least]) ? 1 : 0;
      if (!heap_[least].before(entry)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = entry;
  }

  std::vector<Node> nodes_;
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> lane_tail_;
  std::uint32_t free_ = 0;
  std::uint32_t size_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace infold::sim
