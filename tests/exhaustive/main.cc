// SPDX-License-Identifier: Apache-2.0
//
// exhaustive [CASE...]: explores the named cases, or lists all cases. The exit code is 1 if a case
// fails.
#include <cstdio>

#include "tests/exhaustive/run_case.h"

int main(int argc, char** argv) {
  using namespace infold::exhaustive;
  if (argc < 2) {
    std::printf("usage: exhaustive CASE...\ncases:\n");
    for (const Case& one : all_cases()) {
      std::printf("  %-28s %s%s\n", one.name.c_str(), model_name(one.model),
                  one.effort >= Effort::minutes ? ", takes minutes" : "");
    }
    return 2;
  }
  bool good = true;
  for (int i = 1; i < argc; ++i) {
    const Case* const chosen = find_case(argv[i]);
    if (chosen == nullptr) {
      std::fprintf(stderr, "exhaustive: no case '%s'; without arguments it lists them\n", argv[i]);
      return 2;
    }
    const Report report = run_case(*chosen);
    std::printf("%s\n%s", report.figures.c_str(), report.story.c_str());
    good = good && report.good;
  }
  return good ? 0 : 1;
}
