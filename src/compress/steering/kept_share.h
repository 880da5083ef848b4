// SPDX-License-Identifier: Apache-2.0
//
// The share of the tensors' energy, the sum of squares, that a step's codes keep.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

namespace infold::compress {

class KeptShare {
 public:
  // Requires: both have the same size.
  void add(std::span<const float> tensor, std::span<const float> sent) {
    // Several sums, so that an addition need not wait for the one before.
    std::array<double, kLanes> whole = {};
    std::array<double, kLanes> lost = {};
    for (std::size_t i = 0; i < tensor.size(); ++i) {
      const double value{tensor[i]};
      const double rest = value - double{sent[i]};
      whole[i % kLanes] += value * value;
      lost[i % kLanes] += rest * rest;
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      whole_ += whole[lane];
      lost_ += lost[lane];
    }
  }

  // Returns nothing for tensors of zeros, and for numbers that are not finite. An error that
  // averages out may be larger than the tensor, and then a part of the step is still right.
  std::optional<float> share(bool averages_out) const {
    const double error = lost_ / whole_;
    if (!std::isfinite(error)) return std::nullopt;
    return static_cast<float>(averages_out ? 1 / (1 + error) : std::fmax(1 - error, 0));
  }

 private:
  static constexpr std::size_t kLanes = 4;

  double whole_ = 0;
  double lost_ = 0;
};

}  // namespace infold::compress
