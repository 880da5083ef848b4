// SPDX-License-Identifier: Apache-2.0
//
// Sums floats in one long integer, and finds the number of a type that is nearest to such a sum or
// to a part of it. It finds that number by comparing, according to the definition of rounding to
// nearest. Unlike the product, nothing here shifts, truncates or carries a rounding bit.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/format.h"

namespace infold::oracle {

// A multiple of 2^-1127, in two's complement. Every double is such a multiple, however small it is.
class ExactTotal {
 public:
  // Requires: a finite value.
  void add(double value);
  // Multiplies exactly.
  void multiply(std::uint32_t factor);
  // Returns -1, 0 or 1.
  int compare(const ExactTotal& other) const;
  int sign() const;

 private:
  // 2^(1024 + 32) in these units has 2184 bits.
  static constexpr std::size_t kWords = 36;
  std::array<std::uint64_t, kWords> words_{};
};

// Returns the bits, in the type, of the sum of `values` divided by `divisor`, rounded once to
// nearest with ties to even. For NaN, infinities and zeros it follows the specification's section
// on true sums.
std::uint64_t nearest_sum(core::DataType dtype, const std::vector<double>& values,
                          std::uint32_t divisor);

}  // namespace infold::oracle
