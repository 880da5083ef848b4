// SPDX-License-Identifier: Apache-2.0
//
// Searches an aggregator that does not compare rounds, as in the original protocol.
#include "tests/exhaustive/canary/canary.h"

int main() {
  using namespace infold::exhaustive;
  // Two workers and one slot are enough: a late repeat of a chunk meets the chunk two rounds later.
  const Case canary = {
      .name = "canary-2x1x3", .slots = 1, .tensors = {{.chunks = 3}}, .safety_only = true};
  return sing(canary, "the round check");
}
