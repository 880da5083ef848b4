// SPDX-License-Identifier: Apache-2.0
//
// Runs the reproduction on a small scale.
#include "study/reproduce/switchml/loss.h"

#include <gtest/gtest.h>

namespace infold::reproduce {
namespace {

TEST(SwitchmlLoss, MeetsItsTargets) {
  const Report report = switchml_loss({.elements = 1'000'000});
  ASSERT_EQ(report.figures.size(), 6U);
  ASSERT_EQ(report.targets.size(), 3U);
  for (const Target& target : report.targets) EXPECT_TRUE(target.is_met) << target.text;
  EXPECT_TRUE(report.wrong.empty());
  // More loss takes more time, or the loss is not simulated.
  EXPECT_GT(report.figures[4].ours, 1.001);
  EXPECT_GT(report.figures[5].ours, report.figures[4].ours);
}

}  // namespace
}  // namespace infold::reproduce
