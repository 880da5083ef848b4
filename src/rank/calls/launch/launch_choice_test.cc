// SPDX-License-Identifier: Apache-2.0
//
// Tests which launch a request takes, and that the next request of its kind takes the same object.
#include "rank/calls/launch/launch_choice.h"

#include <gtest/gtest.h>

namespace infold::rank {
namespace {

using core::Collective;

TEST(LaunchChoice, EachKindOfRequestHasItsOwnAndKeepsIt) {
  LaunchChoice launches(std::make_shared<ScratchPool>());
  std::vector<float> tensor(8);
  const CallRequest whole = {Collective::all_reduce, tensor, tensor, 0, {}};
  CallRequest parts = whole, list = whole, rows = whole, barrier;
  parts.in_parts = true;
  list.is_list = true;
  rows.rows = RowsView{};
  FormatChoice agreed, digits;
  agreed.exchange = encoding::Exchange::exponents;
  digits.exchange = encoding::Exchange::digits;
  const auto choose = [&](const CallRequest& request, const FormatChoice& format = {},
                          bool is_sparse = false) {
    Launch& chosen = launches.choose(request, format, is_sparse);
    EXPECT_EQ(&launches.choose(request, format, is_sparse), &chosen);
    return &chosen;
  };
  EXPECT_TRUE(dynamic_cast<WholeLaunch*>(choose(whole)));
  EXPECT_TRUE(dynamic_cast<AgreedLaunch*>(choose(whole, agreed)));
  for (const CallRequest& request : {whole, parts}) {
    EXPECT_TRUE(dynamic_cast<DigitsLaunch*>(choose(request, digits)));
  }
  const MutableTensorView views[] = {tensor};
  CallRequest full_list = list;
  full_list.list = views;
  EXPECT_TRUE(dynamic_cast<DigitsLaunch*>(choose(full_list, digits)));
  EXPECT_TRUE(dynamic_cast<ListLaunch*>(choose(list, digits)));
  EXPECT_TRUE(dynamic_cast<PartsLaunch*>(choose(parts)));
  EXPECT_TRUE(dynamic_cast<ListLaunch*>(choose(list)));
  EXPECT_TRUE(dynamic_cast<BlocksLaunch*>(choose(whole, {}, true)));
  EXPECT_TRUE(dynamic_cast<RowsLaunch*>(choose(rows, {}, true)));
  EXPECT_EQ(choose(barrier), choose(whole));
  // A tensor without elements does not need an exchange.
  CallRequest empty = whole;
  empty.input.elements = 0;
  EXPECT_EQ(choose(empty, agreed), choose(whole));
  EXPECT_EQ(choose(empty, digits), choose(whole));
}

}  // namespace
}  // namespace infold::rank
