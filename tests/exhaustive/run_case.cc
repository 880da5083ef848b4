// SPDX-License-Identifier: Apache-2.0
//
// Runs a search and puts its outcome into words.
#include "tests/exhaustive/run_case.h"

#include "tests/exhaustive/narrate.h"
#include "tests/exhaustive/search.h"

namespace infold::exhaustive {

std::vector<Case> cases_of(Effort least, Effort most) {
  std::vector<Case> chosen;
  for (const Case& one : all_cases()) {
    if (one.effort >= least && one.effort <= most) chosen.push_back(one);
  }
  return chosen;
}

Report run_case(const Case& model_case) {
  Search search(model_case);
  const Outcome outcome = search.run();
  Report report;
  report.good = outcome.exhausted;
  report.figures = figures(model_case, outcome);
  if (!outcome.violation.empty()) report.story = narrate(search, outcome);
  if (!report.good) {
    report.story +=
        "repeat with: build/release/tests/exhaustive/exhaustive " + model_case.name + "\n";
  }
  return report;
}

}  // namespace infold::exhaustive
