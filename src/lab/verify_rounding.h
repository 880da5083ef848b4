// SPDX-License-Identifier: Apache-2.0
//
// How far sums of floats in each wire format are off the exact sum rounded once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "lab/verify_battery.h"

namespace infold::lab {

struct Rounding {
  std::uint64_t elements = 0;
  std::uint64_t off = 0;        // elements with other bits than the exact sum rounded once
  std::uint64_t ulps_most = 0;  // of those; between two numbers

  double share_off() const {
    return elements == 0 ? 0 : static_cast<double>(off) / static_cast<double>(elements);
  }
};

class RoundingTally {
 public:
  // The result of a case at `rank`, and what expected_of() gives. Cases that sum no floats are not
  // counted.
  void add(const VerifyCase& each, int rank, int world, const std::vector<std::byte>& got,
           const std::vector<std::byte>& expected);

  // Of each wire format, in the order of the battery, and each type of floats.
  const std::map<std::pair<WireFormat, DataType>, Rounding>& all() const { return tally_; }

 private:
  std::map<std::pair<WireFormat, DataType>, Rounding> tally_;
};

}  // namespace infold::lab
