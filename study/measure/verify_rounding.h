// SPDX-License-Identifier: Apache-2.0
//
// How far sums of floats in each wire format are from the exact sum rounded once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "study/measure/verify_battery.h"

namespace infold::measure {

struct Rounding {
  std::uint64_t elements = 0;
  std::uint64_t off = 0;        // elements whose bits differ from the exact sum rounded once
  std::uint64_t ulps_most = 0;  // the largest difference of these, between two numbers

  double share_off() const {
    return elements == 0 ? 0 : static_cast<double>(off) / static_cast<double>(elements);
  }
};

class RoundingTally {
 public:
  // Adds a case's result at `rank`, and what expected_of() gives. Ignores cases that are not sums
  // of floats.
  void add(const VerifyCase& each, int rank, int world, const std::vector<std::byte>& got,
           const std::vector<std::byte>& expected);

  // Returns the tally for each wire format, in the order of the battery, and each type of floats.
  const std::map<std::pair<WireFormat, DataType>, Rounding>& all() const { return tally_; }

 private:
  std::map<std::pair<WireFormat, DataType>, Rounding> tally_;
};

}  // namespace infold::measure
