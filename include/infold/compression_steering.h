// SPDX-License-Identifier: Apache-2.0
//
// Steering is what a Compression may change while it runs (compression.h): one setting of its
// method, between two limits, and whether a call travels compressed at all. Ranks measure their
// calls and exchange the times along with the sums of the next call. All ranks therefore make the
// same changes, without another round trip.
//
// Each list of parameters that average() gets has its own steerer. The steerer takes the finest
// setting whose call is nearly as fast as the fastest one.
#pragma once

#include <cstddef>
#include <string>

namespace infold {

struct SteeringOptions {
  // Such as "ratio" or "bits". Empty: no setting changes.
  std::string setting;
  double cheapest = 0;  // the value with the fewest bytes
  double finest = 0;    // the value with the most bytes
  // Whether calls may travel as plain floats if that is as fast. Such a call also sends the
  // residual.
  bool may_skip = false;
  // The extra time that a finer setting may cost, as a share of the fastest call's time, 0.01 to 1.
  // Time that the caller's own work hides costs nothing (AverageOptions::hidden).
  double tolerance = 0.1;
};

// The values now in force for one list of parameters.
struct SteeredCall {
  std::string first_parameter;
  std::size_t parameters = 0;
  bool is_compressed = true;
  double value = 0;  // of the setting that changes; 0 if none does
};

}  // namespace infold
