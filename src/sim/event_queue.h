// SPDX-License-Identifier: Apache-2.0
//
// What happens next, in virtual time: a priority queue of events over storage taken once. Equal
// times leave in the order in which they were pushed, so a run is a function of its inputs.
//
// Events pushed through a lane in rising order of time (what a link emits) wait in a list of
// their own, and only the first of each list is in the heap. The heap then has about as many
// entries as there are links, not packets, and stays in the first cache. The order of pops is
// exactly that of one big heap.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/instant.h"

namespace infold::sim {

using LaneIndex = std::uint32_t;

template <typename Payload>
class EventQueue {
 public:
  struct Event {
    base::Instant at;
    Payload payload;
  };

  EventQueue(std::uint32_t event_count_max, std::uint32_t lane_count)
      : nodes_(event_count_max), lane_tail_(lane_count, kNone) {
    heap_.reserve(event_count_max);
    for (std::uint32_t i = 0; i < event_count_max; ++i) nodes_[i].next = i + 1;
    nodes_.back().next = kNone;
  }

  bool empty() const { return heap_.empty(); }
  std::uint32_t size() const { return size_; }
  // Requires: !empty().
  base::Instant next_at() const { return {heap_.front().at_ns}; }

  void push(base::Instant at, const Payload& payload) { push_heap(add(at, payload, kNoLane)); }

  void push(LaneIndex lane, base::Instant at, const Payload& payload) {
    std::uint32_t& tail = lane_tail_[lane];
    if (tail != kNone && nodes_[tail].at_ns > at.ns) {
      push(at, payload);  // overtakes its lane: it goes alone
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

  std::optional<Event> pop() {
    if (heap_.empty()) return std::nullopt;
    const std::uint32_t index = heap_.front().node;
    Node& node = nodes_[index];
    const Event event{{node.at_ns}, node.payload};
    const std::uint32_t successor = node.lane == kNoLane ? kNone : node.next;
    if (node.lane != kNoLane && successor == kNone) lane_tail_[node.lane] = kNone;
    node.next = free_;
    free_ = index;
    --size_;
    if (successor != kNone) {
      sift_down(entry_of(successor));
    } else {
      const Entry last = heap_.back();
      heap_.pop_back();
      if (!heap_.empty()) sift_down(last);
    }
    return event;
  }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  static constexpr std::uint32_t kNoLane = ~0U;
  static constexpr std::size_t kFanOut = 4;  // four 24-byte children span two cache lines

  struct Node {
    std::int64_t at_ns = 0;
    std::uint64_t sequence = 0;
    Payload payload{};
    std::uint32_t lane = kNoLane;
    std::uint32_t next = kNone;
  };
  struct Entry {
    std::int64_t at_ns;
    std::uint64_t sequence;
    std::uint32_t node;

    bool before(const Entry& other) const {
      return at_ns != other.at_ns ? at_ns < other.at_ns : sequence < other.sequence;
    }
  };

  Entry entry_of(std::uint32_t index) const {
    return {nodes_[index].at_ns, nodes_[index].sequence, index};
  }

  std::uint32_t add(base::Instant at, const Payload& payload, std::uint32_t lane) {
    CHECK(free_ != kNone);
    const std::uint32_t index = free_;
    free_ = nodes_[index].next;
    nodes_[index] = {at.ns, sequence_++, payload, lane, kNone};
    ++size_;
    return index;
  }

  void push_heap(std::uint32_t index) {
    const Entry entry = entry_of(index);
    std::size_t hole = heap_.size();
    heap_.push_back(entry);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kFanOut;
      if (!entry.before(heap_[parent])) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = entry;
  }

  // Puts `entry` in place of the first and restores the order.
  void sift_down(const Entry& entry) {
    std::size_t hole = 0;
    const std::size_t count = heap_.size();
    while (true) {
      const std::size_t first = hole * kFanOut + 1;
      if (first >= count) break;
      const std::size_t end = first + kFanOut < count ? first + kFanOut : count;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child].before(heap_[least])) least = child;
      }
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
