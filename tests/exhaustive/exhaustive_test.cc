// SPDX-License-Identifier: Apache-2.0
//
// Runs the cases that take seconds. A failed case prints its trace in words, and the command that
// repeats it.
#include <algorithm>
#include <cstdio>
#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "tests/exhaustive/run_case.h"
#include "tests/exhaustive/search.h"

namespace infold::exhaustive {

// gtest prints this beside a test's name.
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

namespace {

// A sanitizer checks how the machines use memory. The smaller cases show that as well as the larger
// ones do.
#ifdef INFOLD_SANITIZED
constexpr Effort kMost = Effort::small;
#else
constexpr Effort kMost = Effort::seconds;
#endif

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

// If the epoch returns with the number, the search finds a wrong sum at once. Therefore the cases
// named "again" prove that epochs alone keep jobs apart.
TEST(ExhaustiveEpochs, AnEpochThatReturnsGivesAWrongSum) {
  const Case same_epoch = {.name = "2x1x2-same-epoch",
                           .slots = 1,
                           .tensors = {{.chunks = 2}},
                           .epoch_before = Case{}.epoch,
                           .safety_only = true};
  const Outcome outcome = Search(same_epoch).run();
  EXPECT_TRUE(outcome.violation.starts_with("WRONG SUM")) << outcome.violation;
}

// If a machine accepted or answered a packet of the earlier job, there would be one more state.
TEST(ExhaustiveEpochs, PacketsOfAnEarlierJobAddNoState) {
  for (const char* const name : {"2x1x3", "2x1x2-cancel", "tree-2x1x2"}) {
    Case again = *find_case(name);
    if (again.effort > kMost) continue;
    const Outcome alone = Search(again).run();
    again.epoch_before = again.epoch - 1;
    const Outcome outcome = Search(again).run();
    EXPECT_TRUE(outcome.exhausted) << name;
    EXPECT_EQ(outcome.packets, 2 * alone.packets) << name;
    EXPECT_EQ(outcome.states, alone.states) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Exhaustive, testing::ValuesIn(cases_of(Effort::small, kMost)),
                         test_name);

}  // namespace
}  // namespace infold::exhaustive
