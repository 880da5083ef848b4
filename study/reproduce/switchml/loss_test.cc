// SPDX-License-Identifier: Apache-2.0
//
// Runs the reproduction on a small scale.
#include "study/reproduce/switchml/loss.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace infold::reproduce {
namespace {

TEST(SwitchmlLoss, MeetsItsTargets) {
  std::vector<std::string> rows;
  const Report report =
      switchml_loss({.elements = 1'000'000},
                    [&rows](const std::string& row, std::size_t number, std::size_t all) {
                      rows.push_back(row);
                      EXPECT_EQ(number, rows.size());
                      EXPECT_EQ(all, 8U);
                    });
  EXPECT_EQ(rows.size(), 8U);
  EXPECT_EQ(rows[3], "1 % loss, 128 slots");
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
