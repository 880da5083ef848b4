// SPDX-License-Identifier: Apache-2.0
//
// Proves that the search works. The program is linked with an aggregator that does not compare
// rounds, as in the original protocol. The search must find the wrong sum that follows. If it finds
// none, the search is broken.
#include <cstdio>

#include "tests/exhaustive/narrate.h"
#include "tests/exhaustive/search.h"

int main() {
  using namespace infold::exhaustive;
  // Two workers and one slot are enough: a late repeat of a chunk meets the chunk two rounds later.
  const Case canary = {
      .name = "canary-2x1x3", .slots = 1, .tensors = {{.chunks = 3}}, .safety_only = true};
  Search search(canary);
  const Outcome outcome = search.run();
  std::printf("%s\n", figures(canary, outcome).c_str());
  if (outcome.violation.empty()) {
    std::printf("the canary sings no more: no wrong sum found without the round check\n");
    return 1;
  }
  std::printf("%s", narrate(search, outcome).c_str());
  return outcome.violation.starts_with("WRONG SUM") ? 0 : 1;
}
