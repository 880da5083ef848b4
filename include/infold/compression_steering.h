// SPDX-License-Identifier: Apache-2.0
//
// Steering is what a Compression may change while it runs (compression.h): one setting of its
// method, between two limits, and whether a call travels compressed at all. Ranks measure their
// calls and exchange the times along with the sums of the next call. All ranks therefore make the
// same changes, without another round trip.
//
// Each list of parameters that average() gets has its own steerer, which aims at the most progress
// for each second: the part of the gradients that a setting keeps, against the time of a step with
// it. Time that the caller's own work hides costs nothing.
#pragma once

#include <cstddef>
#include <string>

namespace infold {

struct SteeringOptions {
  // Such as "ratio" or "bits". Empty: no setting changes.
  std::string setting;
  // The values with the fewest and the most bytes. If both are 0, the setting goes from its value
  // in CompressionOptions, or its usual one, to the finest that sends no more than plain floats.
  double cheapest = 0;
  double finest = 0;
  // Whether calls may travel as plain floats if that is as fast. Such a call also sends the
  // residual.
  bool may_skip = false;
  // How much less progress for each second a finer setting may make, as a share, 0.01 to 1.
  double tolerance = 0.05;
};

// The values now in force for one list of parameters.
struct SteeredCall {
  std::string first_parameter;
  std::size_t parameters = 0;
  bool is_compressed = true;
  double value = 0;  // the value of the setting that changes; 0 if none does
  double kept = 0;   // the share of the gradients' energy that it keeps; 0 if not yet measured
};

}  // namespace infold
