// SPDX-License-Identifier: Apache-2.0
//
// Compares the order of coflows with hand-made cases, and its cost with the best order's.
#include "study/mix/schedulers/coflow_order.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "base/prng.h"

namespace infold::mix {
namespace {

using Order = std::vector<std::size_t>;

TEST(CoflowOrder, OfNoneIsEmpty) { EXPECT_TRUE(coflow_order({}).empty()); }

TEST(CoflowOrder, OnOneLinkTheShortestGoesFirst) {
  const std::vector<Coflow> coflows = {{1, {{0, 5}}}, {1, {{0, 1}}}, {1, {{0, 3}}}};
  EXPECT_EQ(coflow_order(coflows), (Order{1, 2, 0}));
}

TEST(CoflowOrder, AHeavyWeightGoesFirst) {
  const std::vector<Coflow> coflows = {{1, {{0, 1}}}, {10, {{0, 5}}}};
  EXPECT_EQ(coflow_order(coflows), (Order{1, 0}));
}

TEST(CoflowOrder, OfEqualsTheFirstGoesFirst) {
  const std::vector<Coflow> coflows(4, Coflow{1, {{0, 2}, {1, 2}}});
  EXPECT_EQ(coflow_order(coflows), (Order{0, 1, 2, 3}));
}

// Coflow 0 crosses both links. Coflows 1 and 2 each use one of them and are shorter there.
TEST(CoflowOrder, ACoflowOnTwoLinksWaitsForTwoShorterOnes) {
  const std::vector<Coflow> coflows = {{1, {{0, 3}, {1, 3}}}, {1, {{0, 2}}}, {1, {{1, 2}}}};
  EXPECT_EQ(coflow_order(coflows).back(), 0U);
}

TEST(CoflowOrder, TakesCoflowsWithoutLoads) {
  const std::vector<Coflow> coflows = {{1, {}}, {1, {{3, 2}}}, {1, {}}};
  Order order = coflow_order(coflows);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (Order{0, 1, 2}));
}

// Links serve coflows in this order. A coflow ends when its last link has served it.
double cost(const std::vector<Coflow>& coflows, const Order& order) {
  std::map<std::uint32_t, double> busy;
  double sum = 0;
  for (const std::size_t index : order) {
    double end = 0;
    for (const LinkLoad& load : coflows[index].loads) {
      end = std::max(end, busy[load.link] += load.time);
    }
    sum += coflows[index].weight * end;
  }
  return sum;
}

// If links serve coflows one after another, the order is known to cost at most twice as much as the
// best order.
TEST(CoflowOrder, CostsAtMostTwiceTheBestOrder) {
  base::Prng prng(1);
  double worst = 1;
  double sum = 0;
  constexpr int kCases = 500;
  for (int i = 0; i < kCases; ++i) {
    std::vector<Coflow> coflows(2 + prng.below(4));
    for (Coflow& coflow : coflows) {
      coflow.weight = static_cast<double>(1 + prng.below(4));
      for (std::uint32_t link = 0; link < 4; ++link) {
        if (prng.chance(0.6)) coflow.loads.push_back({link, 1 + 9 * prng.uniform()});
      }
    }
    Order best(coflows.size());
    std::iota(best.begin(), best.end(), std::size_t{0});
    Order each = best;
    do {
      if (cost(coflows, each) < cost(coflows, best)) best = each;
    } while (std::next_permutation(each.begin(), each.end()));
    const double least = cost(coflows, best);
    const double ratio = least > 0 ? cost(coflows, coflow_order(coflows)) / least : 1;
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LE(worst, 2);
  EXPECT_LE(sum / kCases, 1.05) << "it is near the best order in most cases";
}

}  // namespace
}  // namespace infold::mix
