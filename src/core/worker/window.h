// SPDX-License-Identifier: Apache-2.0
//
// The congestion window: how many chunks one stream keeps in flight to one site. It doubles until a
// queue builds. Then it aims at a short queue: half the path's shortest round trip, but at least a
// millisecond. A smaller window aims at a longer queue. Such a queue keeps the path full even while
// some chunks wait for a retransmission, without long delays. The window is adjusted once per round
// trip by the round's shortest sample, because late workers and busy hosts inflate that sample
// least. Random loss alone does not shrink the window, but a loss of more than a tenth on our own
// path does.
//
// Flows that share a link see the same queue. The larger window aims at a shorter queue, so it
// shrinks while the smaller one grows, until their sizes have the ratio of their even_chunks. Jobs
// thus get equal shares, and the sites of a job get shares by weight, so that they finish at the
// same time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/worker/round_trip.h"
#include "core/worker/shortest.h"

namespace infold::core {

class Window {
 public:
  // The first burst of a job, which every path and receive buffer in use today can absorb.
  static constexpr std::uint32_t kInitial = 32;
  // With fewer chunks each loss would cause a timeout, because no later chunk could overtake it.
  static constexpr std::uint32_t kMin = 4;

  // A window of `even_chunks` aims at twice the queue of a very large one. A smaller value cannot
  // tell a window of 4 from one of 8; a larger one fills the queue of a slow link. A lone job on
  // 100 Mbit/s has about 25 chunks in flight.
  static constexpr std::uint32_t kEvenChunks = 32;

  explicit Window(std::uint32_t most, std::uint32_t even_chunks = kEvenChunks)
      : most_(most),
        least_(std::min(kMin, most)),
        size_(std::min(kInitial, most)),
        goal_(size_),
        even_chunks_(even_chunks) {}

  // Makes a window for small tensors, which are latency-bound. Queueing more packets does not make
  // them faster, and costs hosts and links more than sending them when there is room.
  static Window of_small_tensors(std::uint32_t most) {
    Window window(most);
    window.waited_for_ = true;
    return window;
  }

  // Makes a window that never changes, for places without a path to fill or a queue to avoid.
  static Window fixed(std::uint32_t size) {
    Window window(size);
    window.least_ = window.size_ = window.goal_ = size;
    return window;
  }

  std::uint32_t size() const { return size_; }
  bool is_full() const { return size_ == most_; }

  // Returns the length of the queue that the window aims at.
  base::Duration aim(const RoundTrip& path) const {
    if (waited_for_) return std::max(path.least() / 2, kWakeTime);
    const base::Duration room = std::max(path.least() / 2, kHostTime);
    return room + room * even_chunks_ / size_;
  }

  void on_result() {
    ++results_;
    if (starting_) size_ = std::min(size_ + 1, most_);
  }
  void on_sample(base::Duration sample) { shortest_.add(sample); }
  void on_loss() { ++losses_; }

  // Call this after each result. It ends the round once a whole window has come back.
  void end_round_if_due(RoundTrip& path) {
    if (results_ < goal_) return;
    if (overflows()) {
      starting_ = false;
      resize(size_ * 7 / 10);
      loss_share_ = 0;
    } else if (shortest_) {
      judge(path);
    }
    goal_ = size_;
    results_ = losses_ = 0;
    shortest_.clear();
  }

 private:
  // The time that hosts may take to wake up and process a train of packets. If the path is faster
  // than this, packets wait for processors, and a longer train is cheaper. (We tried to let the
  // window grow as long as that helps, but on busy hosts the gain of a step drowns in noise.)
  static constexpr base::Duration kHostTime = base::milliseconds(1);
  // The time that a host takes to wake up. The queue of small tensors needs to cover no more than
  // this.
  static constexpr base::Duration kWakeTime = base::microseconds(250);
  // If other flows can make room for a small window, they do so within a few tens of rounds.
  static constexpr std::uint32_t kCrowdedRoundsMax = 64;
  static constexpr std::uint32_t kShareOne = 65536;
  static constexpr std::uint32_t kLossShareMax = kShareOne / 10;
  static constexpr std::uint32_t kStartLossShareMax = kShareOne / 16;
  // Loss shares are averaged over this many results, because one loss among the few chunks of a
  // small window says nothing.
  static constexpr std::uint32_t kShareResults = 128;

  // While the window doubles, it can overrun a short queue within one round. The loss of that round
  // alone is then enough to stop the doubling.
  bool overflows() {
    const std::uint32_t weight = std::min(results_, kShareResults);
    const std::uint32_t share = std::min(losses_, results_) * kShareOne / results_;
    loss_share_ = (loss_share_ * (kShareResults - weight) + share * weight) / kShareResults;
    return loss_share_ > kLossShareMax || (starting_ && share > kStartLossShareMax);
  }

  void judge(RoundTrip& path) {
    const bool queue_is_short = *shortest_ < path.least() + aim(path);
    const std::uint32_t step = std::max(size_ / 8, 1U);
    if (queue_is_short) {
      crowded_rounds_ = 0;
      crowded_shortest_.clear();
      if (!starting_) resize(size_ + step);
      return;
    }
    starting_ = false;
    if (size_ == least_) judge_path(path);
    resize(size_ - step);
  }

  // Even the smallest window sees a long queue, so either others cause it or the path has become
  // longer.
  void judge_path(RoundTrip& path) {
    crowded_shortest_.add(*shortest_);
    if (++crowded_rounds_ < kCrowdedRoundsMax) return;
    path.restart_least(*crowded_shortest_);
    crowded_rounds_ = 0;
    crowded_shortest_.clear();
  }

  void resize(std::uint32_t size) { size_ = std::clamp(size, least_, most_); }

  std::uint32_t most_;
  std::uint32_t least_;
  std::uint32_t size_;
  std::uint32_t goal_;
  std::uint32_t even_chunks_;
  bool waited_for_ = false;
  bool starting_ = true;
  std::uint32_t results_ = 0;
  std::uint32_t losses_ = 0;
  std::uint32_t loss_share_ = 0;
  Shortest shortest_;  // the shortest sample of this round
  std::uint32_t crowded_rounds_ = 0;
  Shortest crowded_shortest_;  // the shortest sample of the crowded rounds
};

}  // namespace infold::core
