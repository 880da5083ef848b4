// SPDX-License-Identifier: Apache-2.0
//
// Compares the timer table with a linear search.
#include "study/sim/network/timer_table.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::sim {
namespace {

TEST(TimerTable, StartsWithNothingDue) {
  EXPECT_EQ(TimerTable(1).earliest(), base::Instant::never());
}

TEST(TimerTable, EqualsALinearSearchOverRandomOperations) {
  base::Prng prng(3);
  for (const std::uint32_t count : {1U, 2U, 3U, 7U, 64U, 100U}) {
    TimerTable table(count);
    std::vector<base::Instant> model(count, base::Instant::never());
    for (int step = 0; step < 2'000; ++step) {
      const auto node = static_cast<std::uint32_t>(prng.below(count));
      model[node] = prng.chance(0.2) ? base::Instant::never() : base::Instant{prng.between(0, 50)};
      table.set(node, model[node]);
      const auto first = std::min_element(model.begin(), model.end());
      ASSERT_EQ(table.earliest(), *first);
      if (*first != base::Instant::never()) {
        ASSERT_EQ(table.earliest_node(), first - model.begin());
      }
    }
  }
}

}  // namespace
}  // namespace infold::sim
