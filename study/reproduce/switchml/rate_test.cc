// SPDX-License-Identifier: Apache-2.0
//
// Runs the reproduction on a small scale. Virtual time is exact, so the targets hold on every
// machine.
#include "study/reproduce/switchml/rate.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "study/reproduce/switch_sum.h"

namespace infold::reproduce {
namespace {

const Figure& figure_of(const Report& report, std::string_view name) {
  const auto found = std::find_if(report.figures.begin(), report.figures.end(),
                                  [&](const Figure& each) { return each.name == name; });
  EXPECT_NE(found, report.figures.end()) << name;
  return *found;
}

TEST(SwitchmlRate, MeetsItsTargets) {
  const Report report = switchml_rate({.packets = 2'000});
  for (const Target& target : report.targets) EXPECT_TRUE(target.is_met) << target.text;
  EXPECT_EQ(report.targets.size(), 10U);
  EXPECT_TRUE(report.wrong.empty());
  // No rate exceeds the bound, which was computed without the simulator.
  for (const Figure& figure : report.figures) {
    if (figure.unit == "%") {
      EXPECT_LE(figure.ours, 100.01) << figure.name;
    }
  }
  EXPECT_NEAR(figure_of(report, "rate, 8 workers, 256 elements, 100 Gbit/s").theirs, 2'820, 1);
  // A quarter of 128 slots fills a path of 32 packets. This path holds more than that.
  EXPECT_LT(figure_of(report, "share of bound, 128 slots, 64 elements, 10 Gbit/s").ours, 90);
  EXPECT_NEAR(figure_of(report, "rate, 16 workers, 64 elements, 10 Gbit/s").ours, 223.4, 1);
  EXPECT_NEAR(figure_of(report,
                        "rate, pipeline that adds, SwitchML's frame, 16 workers, 64 "
                        "elements, 10 Gbit/s")
                  .ours,
              240.9, 1);
}

// If there are too few slots for the path, the rate must fall. Otherwise the simulation would
// ignore the path.
TEST(SwitchmlRate, ALongPathNeedsMoreSlots) {
  SwitchSum sum;
  sum.workers = 2;
  sum.slots = 64;
  sum.elements = 64 * 4'000;
  const double near = run(sum).done_s[0];
  sum.round_trip = base::microseconds(1'000);
  EXPECT_GT(run(sum).done_s[0], 5 * near);
}

}  // namespace
}  // namespace infold::reproduce
