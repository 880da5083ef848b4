// SPDX-License-Identifier: Apache-2.0
//
// Follows the level of a noisy time. It takes the median of the last three values first, so that a
// single outlier changes nothing. It follows a jump at once, and smaller changes over eight values.
#pragma once

#include <algorithm>
#include <array>

namespace infold::compress {

class Smoothed {
 public:
  // A ratio of 1.5 is noise on a busy host, but twice the time means that the network has changed.
  static constexpr double kJump = 1.6;
  static constexpr int kWindow = 8;

  // Adds a time. Returns true if the level has jumped.
  bool add(double value) {
    last_ = {last_[1], last_[2], static_cast<float>(value)};
    count_ = std::min(count_ + 1, kWindow);
    const double middle = median();
    const double before = level();
    const bool jumps = count_ > 3 && (middle > before * kJump || middle * kJump < before);
    if (jumps) count_ = 3;
    level_ = static_cast<float>(count_ <= 3 ? middle : before + (middle - before) / count_);
    return jumps;
  }
  // Starts with a guess, which the next value replaces.
  void restart(double guess) {
    level_ = static_cast<float>(guess);
    count_ = 0;
  }

  double level() const { return double{level_}; }
  // The number of values since the start, up to kWindow.
  int count() const { return count_; }

  template <typename Visitor>
  void visit(const Visitor& visitor) {
    visitor(level_);
    visitor(count_);
    for (float& each : last_) visitor(each);
  }

 private:
  double median() const {
    if (count_ == 1) return double{last_[2]};
    if (count_ == 2) return double{std::min(last_[1], last_[2])};
    return double{
        std::max(std::min(last_[0], last_[1]), std::min(std::max(last_[0], last_[1]), last_[2]))};
  }

  float level_ = 0;
  int count_ = 0;
  std::array<float, 3> last_ = {};
};

}  // namespace infold::compress
