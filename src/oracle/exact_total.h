// SPDX-License-Identifier: Apache-2.0
//
// Sums of floats as one long integer, and the number of a type that lies nearest to such a sum or
// to a part of it. The nearest is found by comparing, from the definition of rounding to nearest:
// nothing here shifts, truncates or carries a rounding bit as the product does.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/format.h"

namespace infold::oracle {

// A multiple of 2^-1127 in two's complement: the last place of each double, however small.
class ExactTotal {
 public:
  // Requires: finite.
  void add(double value);
  // Exactly.
  void multiply(std::uint32_t factor);
  // -1, 0 or 1.
  int compare(const ExactTotal& other) const;
  int sign() const;

 private:
  // 2^(1024 + 32) in these units has 2184 bits.
  static constexpr std::size_t kWords = 36;
  std::array<std::uint64_t, kWords> words_{};
};

// The bits, in the type, of the sum of `values` divided by `divisor`, rounded once to nearest and
// ties to even. NaN, infinities and zeros as the specification's section on true sums says.
std::uint64_t nearest_sum(core::DataType dtype, const std::vector<double>& values,
                          std::uint32_t divisor);

}  // namespace infold::oracle
