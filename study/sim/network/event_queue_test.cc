// SPDX-License-Identifier: Apache-2.0
//
// Compares the event queue with a sorted map, whose order is by time and then by arrival.
#include "study/sim/network/event_queue.h"

#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::sim {
namespace {

TEST(EventQueue, EqualTimesLeaveInOrderOfPush) {
  EventQueue<int> queue(8, 2);
  queue.push({5}, 0);
  queue.push(1, {5}, 1);
  queue.push(0, {5}, 2);
  queue.push(1, {5}, 3);
  for (int expected = 0; expected < 4; ++expected) EXPECT_EQ(queue.pop(), expected);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, AnEventThatOvertakesItsLaneLeavesFirst) {
  EventQueue<int> queue(8, 1);
  queue.push(0, {10}, 1);
  queue.push(0, {20}, 2);
  queue.push(0, {15}, 3);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), 3);
  EXPECT_EQ(queue.pop(), 2);
}

TEST(EventQueue, EqualsASortedMapOverRandomOperations) {
  base::Prng prng(7);
  EventQueue<std::uint64_t> queue(256, 5);
  std::map<std::pair<std::int64_t, std::uint64_t>, std::uint64_t> model;
  std::int64_t now = 0;
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const bool full = model.size() == 256;
    if (!full && (model.empty() || prng.chance(0.52))) {
      const std::int64_t at = now + prng.between(0, 30);
      model.emplace(std::pair{at, step}, step);
      const auto lane = static_cast<LaneIndex>(prng.below(6));
      if (lane == 5) {
        queue.push({at}, step);
      } else {
        queue.push(lane, {at}, step);
      }
    } else {
      ASSERT_EQ(queue.next_at().ns, model.begin()->first.first);
      now = queue.next_at().ns;
      ASSERT_EQ(queue.pop(), model.begin()->second);
      model.erase(model.begin());
    }
    ASSERT_EQ(queue.size(), model.size());
  }
}

}  // namespace
}  // namespace infold::sim
