// SPDX-License-Identifier: Apache-2.0
//
// Sums of some elements of a tensor, in f64. A step takes time for each element that was added, and
// for reading one bit for each element of the tensor.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace infold::compress {

class SparseSums {
 public:
  // Sets all sums to zero.
  void reset(std::size_t elements) {
    if (sums_.size() != elements) {
      sums_.assign(elements, 0);
      touched_.assign((elements + kBits - 1) / kBits, 0);
      return;
    }
    for_each([this](std::size_t index) { sums_[index] = 0; });
    std::fill(touched_.begin(), touched_.end(), 0);
  }
  // Requires: index < elements.
  void add(std::uint32_t index, double value) {
    touched_[index / kBits] |= std::uint64_t{1} << (index % kBits);
    sums_[index] += value;
  }
  // Requires: `mean` has as many elements as the sums.
  void write_mean(double divisor, std::span<float> mean) const {
    std::fill(mean.begin(), mean.end(), 0.0F);
    for_each([&](std::size_t index) { mean[index] = static_cast<float>(sums_[index] / divisor); });
  }

 private:
  static constexpr std::size_t kBits = 64;

  template <typename Use>
  void for_each(Use use) const {
    for (std::size_t word = 0; word < touched_.size(); ++word) {
      for (std::uint64_t bits = touched_[word]; bits != 0; bits &= bits - 1) {
        use(word * kBits + static_cast<std::size_t>(std::countr_zero(bits)));
      }
    }
  }

  std::vector<double> sums_;
  std::vector<std::uint64_t> touched_;  // a bit for each element
};

}  // namespace infold::compress
