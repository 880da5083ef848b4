// SPDX-License-Identifier: Apache-2.0
//
// Searches exact sums that do not ask whether an addition was rounded.
#include "tests/exhaustive/canary/canary.h"

int main() {
  using namespace infold::exhaustive;
  const Case canary = {
      .name = "canary-3x1x1-native",
      .workers = 3,
      .slots = 1,
      .tensors = {{.format = infold::core::WireFormat::native, .chunks = 1, .wide_spread = true}},
      .safety_only = true};
  return sing(canary, "the processor's note of rounding");
}
