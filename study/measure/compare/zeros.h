// SPDX-License-Identifier: Apache-2.0
//
// Says which elements of each rank's tensor are zeros, in measurements of sums that leave zeros
// out. infold and its rivals sum the same tensors. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/prng.h"

namespace infold::measure {

// The number of neighbouring elements that are all zero or all not zero, like a row of an
// embedding.
inline constexpr std::size_t kRowElements = 256;

struct ZerosOptions {
  double share = 0;
  std::size_t row_elements = kRowElements;
  // true: zeros are at the end of every rank's tensor; false: each rank has them in rows of its own
  bool at_end = false;
};

class Zeros {
 public:
  Zeros(const ZerosOptions& options, std::size_t elements)
      : at_end_(options.at_end),
        row_elements_(options.row_elements),
        below_(options.share * 0x1p32),
        first_(row_elements_ *
               static_cast<std::size_t>((1 - options.share) * static_cast<double>(elements) /
                                        static_cast<double>(row_elements_))) {}

  bool cover(std::size_t index, int rank) const {
    if (at_end_) return index >= first_;
    const std::uint64_t row = index / row_elements_ * 1024 + static_cast<std::uint64_t>(rank);
    return static_cast<double>(base::mix64(row + 1) >> 32) < below_;
  }

 private:
  bool at_end_;
  std::size_t row_elements_;
  double below_;
  std::size_t first_;  // the first element of the zeros at the end
};

}  // namespace infold::measure
