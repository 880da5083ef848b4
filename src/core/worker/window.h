// SPDX-License-Identifier: Apache-2.0
//
// How many chunks one stream keeps in flight to one site. Doubles until a queue builds, then aims
// at a queue: half of the path's own round trip, or a millisecond, and the more the smaller the
// window is. That is enough to fill the path also while some chunks wait for a repeat, and too
// little to stand in its queues. Judged once per round trip by the round's shortest sample, which a
// late peer or a busy host inflates least. Random loss alone does not shrink it; loss of more than
// a tenth, on our own path, does.
//
// Flows that share a link see one queue. The larger window aims at less of it and shrinks while the
// smaller one grows, until both have the ratio of their even_chunks. Jobs thus get equal shares,
// and sites of one job get shares by weight: all of them are done at the same time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/worker/round_trip.h"
#include "core/worker/shortest.h"

namespace infold::core {

class Window {
 public:
  // The first burst of a job: what every path and receive buffer in use today absorbs.
  static constexpr std::uint32_t kInitial = 32;
  // Fewer would turn each loss into a time-out, because nothing could overtake it.
  static constexpr std::uint32_t kMin = 4;

  // A window of `even_chunks` aims at twice the queue of a very large one. Fewer tell 4 chunks from
  // 8 less well, more fill the queue of a slow link: a lone job on 100 Mbit/s has some 25 in
  // flight.
  static constexpr std::uint32_t kEvenChunks = 32;

  explicit Window(std::uint32_t most, std::uint32_t even_chunks = kEvenChunks)
      : most_(most),
        least_(std::min(kMin, most)),
        size_(std::min(kInitial, most)),
        goal_(size_),
        even_chunks_(even_chunks) {}

  // Of small tensors, which are waited for: packets that queue make none of them faster, and cost
  // hosts and links more than those that come when there is room.
  static Window of_small_tensors(std::uint32_t most) {
    Window window(most);
    window.waited_for_ = true;
    return window;
  }

  // One that stays as it is, where there is no path to fill and no queue to spare.
  static Window fixed(std::uint32_t size) {
    Window window(size);
    window.least_ = window.size_ = window.goal_ = size;
    return window;
  }

  std::uint32_t size() const { return size_; }
  bool is_full() const { return size_ == most_; }

  // How long a queue it aims at.
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

  // Call after each result: ends the round when a window's worth has come back.
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
  // What hosts may take to wake up and work off a train of packets: where paths are faster, packets
  // wait for processors, and a longer train is the cheaper one. (Growing for as long as it pays was
  // tried instead; on busy hosts the gain of a step drowns in noise.)
  static constexpr base::Duration kHostTime = base::milliseconds(1);
  // What a host takes to wake up, where that is all that a queue is for.
  static constexpr base::Duration kWakeTime = base::microseconds(250);
  // Others make room for a small window within some tens of rounds, if they can.
  static constexpr std::uint32_t kCrowdedRoundsMax = 64;
  static constexpr std::uint32_t kShareOne = 65536;
  static constexpr std::uint32_t kLossShareMax = kShareOne / 10;
  static constexpr std::uint32_t kStartLossShareMax = kShareOne / 16;
  // One loss among the few chunks of a small window says nothing; shares are over this many.
  static constexpr std::uint32_t kShareResults = 128;

  // A window that doubles overruns a short queue within one round, which must not double again.
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

  // The smallest window queues for long: either others do, or the path has become longer.
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
  Shortest shortest_;  // of this round
  std::uint32_t crowded_rounds_ = 0;
  Shortest crowded_shortest_;  // of those rounds
};

}  // namespace infold::core
