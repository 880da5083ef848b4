// SPDX-License-Identifier: Apache-2.0
//
// Runs the cases that take minutes. A failed case prints its trace in words, and the command that
// repeats it.
#include <algorithm>
#include <cstdio>
#include <ostream>

#include <gtest/gtest.h>

#include "tests/exhaustive/run_case.h"

namespace infold::exhaustive {

// gtest prints this beside a test's name.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

namespace {

class Exhaustive : public testing::TestWithParam<Case> {};

std::string test_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

TEST_P(Exhaustive, EveryInterleavingIsSafeAndCompletes) {
  const Report report = run_case(GetParam());
  std::printf("%s\n", report.figures.c_str());
  EXPECT_TRUE(report.good) << report.story;
}

INSTANTIATE_TEST_SUITE_P(LongCases, Exhaustive,
                         testing::ValuesIn(cases_of(Effort::minutes, Effort::minutes)), test_name);

}  // namespace
}  // namespace infold::exhaustive
