// SPDX-License-Identifier: Apache-2.0
//
// Proves that the search works: linked with an aggregator that tells chunks apart only by the
// copy they use, as the original protocol does, it must find the wrong sum that this allows. If
// it finds none, the search is broken, whatever it says about the real aggregator.
#include <cstdio>

#include "tests/exhaustive/narrate.h"
#include "tests/exhaustive/search.h"

int main() {
  using namespace infold::exhaustive;
  // Two workers and one slot are enough: the late repeat of a chunk meets the chunk after next.
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
