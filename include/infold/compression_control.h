// SPDX-License-Identifier: Apache-2.0
//
// What a Compression may change while it runs (compression.h): one setting of its method, between
// two limits, and whether a call travels compressed at all. Ranks measure their calls and join the
// times beside the sums of the next call. So all ranks change alike, without a further round trip.
//
// Each list of parameters that average() gets has a controller of its own. It takes the finest
// setting whose call is nearly as fast as the fastest one.
#pragma once

#include <cstddef>
#include <string>

namespace infold {

struct ControlOptions {
  // As in "ratio" or "bits". Empty: no setting changes.
  std::string setting;
  double cheapest = 0;  // the value with the fewest bytes
  double finest = 0;    // the value with the most
  // Whether calls may travel as plain floats, if that is as fast. A residual is sent then, too.
  bool may_skip = false;
  // What a finer setting may cost: a share of the fastest call's time, 0.01 to 1. Time that the
  // caller's own work hides costs nothing (AverageOptions::hidden).
  double tolerance = 0.1;
};

// What is in force for one list of parameters.
struct ControlledCall {
  std::string first_parameter;
  std::size_t parameters = 0;
  bool is_compressed = true;
  double value = 0;  // of the setting that changes; 0 if none does
};

}  // namespace infold
