// SPDX-License-Identifier: Apache-2.0
//
// Tests the formula of fixed slots against a count by hand, and runs the reproduction in small.
#include "reproduce/switchml/loss.h"

#include <cmath>

#include <gtest/gtest.h>

namespace infold::reproduce {
namespace {

// One worker, one slot, 100 chunks of two packets each. The logarithm of one slot is 0, so the
// deviation does not count. At a loss of 1 % a chunk stops with 1 - 0.99^2 = 0.0199.
TEST(SlotTimers, CountsOneSlotExactly) {
  const SlotTimers timers{.workers = 1, .slots = 1, .chunks = 100, .base_s = 0.01};
  EXPECT_NEAR(slot_timer_inflation(timers, 0.01), 1 + 1.99 * 1e-3 / 0.01, 1e-9);
  EXPECT_DOUBLE_EQ(slot_timer_inflation(timers, 0), 1);
}

// 400 chunks over 4 slots: 100 each. The mean is 1.99 and the deviation sqrt(1.99 x 0.9801).
TEST(SlotTimers, TheUnluckiestSlotEndsTheCall) {
  const SlotTimers timers{.workers = 1, .slots = 4, .chunks = 400, .base_s = 0.01};
  const double unluckiest = 1.99 + std::sqrt(2 * std::log(4.0)) * std::sqrt(1.99 * 0.9801);
  EXPECT_NEAR(slot_timer_inflation(timers, 0.01), 1 + unluckiest * 1e-3 / 0.01, 1e-9);
}

TEST(SwitchmlLoss, MeetsItsTargets) {
  const Report report = switchml_loss({.elements = 1'000'000});
  ASSERT_EQ(report.figures.size(), 3U);
  for (const Target& target : report.targets) EXPECT_TRUE(target.is_met) << target.text;
  EXPECT_TRUE(report.wrong.empty());
  // More loss takes more time, or the loss is not simulated.
  EXPECT_GT(report.figures[1].ours, 1.001);
  EXPECT_GT(report.figures[2].ours, report.figures[1].ours);
}

}  // namespace
}  // namespace infold::reproduce
