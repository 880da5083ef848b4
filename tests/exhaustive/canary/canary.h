// SPDX-License-Identifier: Apache-2.0
//
// Proves that the search works. A canary is a program that is linked with machines that have one
// fault. The search must find the wrong sum that follows; if it does not, the search is broken.
#pragma once

#include <cstdio>

#include "tests/exhaustive/narrate.h"
#include "tests/exhaustive/search.h"

namespace infold::exhaustive {

// Returns the program's status.
inline int sing(const Case& canary, const char* missing) {
  Search search(canary);
  const Outcome outcome = search.run();
  std::printf("%s\n", figures(canary, outcome).c_str());
  if (outcome.violation.empty()) {
    std::printf("the canary sings no more: no wrong sum found without %s\n", missing);
    return 1;
  }
  std::printf("%s", narrate(search, outcome).c_str());
  return outcome.violation.starts_with("WRONG SUM") ? 0 : 1;
}

}  // namespace infold::exhaustive
