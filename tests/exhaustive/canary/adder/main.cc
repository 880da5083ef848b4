// SPDX-License-Identifier: Apache-2.0
//
// Searches a pipeline that compares the versions of a slot but not the rounds, as the original
// pipeline does.
#include "tests/exhaustive/canary/canary.h"

int main() {
  using namespace infold::exhaustive;
  const Case canary = {.name = "canary-2x1x3-adder",
                       .only_adds = true,
                       .slots = 1,
                       .tensors = {{.chunks = 3}},
                       .safety_only = true};
  return sing(canary, "the round check of the pipeline");
}
