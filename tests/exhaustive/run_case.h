// SPDX-License-Identifier: Apache-2.0
//
// Runs a case from start to verdict, for the test programs and the command line.
#pragma once

#include <string>
#include <vector>

#include "tests/exhaustive/model_case.h"

namespace infold::exhaustive {

std::vector<Case> cases_of(Effort least, Effort most);

struct Report {
  bool good = false;    // all states visited, and no violation
  std::string figures;  // one line
  std::string story;    // for a violation: the steps, and the command that repeats it
};
Report run_case(const Case& model_case);

}  // namespace infold::exhaustive
