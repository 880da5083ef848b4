// SPDX-License-Identifier: Apache-2.0
//
// Runs the scenarios with fewer and smaller jobs.
#include "study/reproduce/switchml/mixes.h"

#include <cmath>

#include <gtest/gtest.h>

namespace infold::reproduce {
namespace {

TEST(SwitchmlMixes, OneJobHasItsClosedTimeAndSchedulersPay) {
  const Report report =
      switchml_mixes({.scale_alone = 200, .scale = 2'000, .offsets = 1, .jobs = 12, .lists = 1});
  EXPECT_TRUE(report.wrong.empty()) << report.wrong.front();
  int closed = 0;
  int ratios = 0;
  for (const Figure& figure : report.figures) {
    EXPECT_TRUE(std::isfinite(figure.ours) && figure.ours > 0) << figure.name;
    if (figure.basis == Basis::formula) {
      ++closed;
      EXPECT_LE(std::abs(*difference(figure)), 0.03) << figure.name;
    }
    if (!figure.name.ends_with("sincronia / none")) continue;
    ++ratios;
    EXPECT_GT(figure.ours, 0.6) << figure.name;
    EXPECT_LT(figure.ours, 1.05) << figure.name;
  }
  EXPECT_EQ(closed, 12);
  EXPECT_EQ(ratios, 2);
}

}  // namespace
}  // namespace infold::reproduce
