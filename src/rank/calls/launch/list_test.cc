// SPDX-License-Identifier: Apache-2.0
//
// Tests that small tensors travel side by side and large ones alone, and that tensors do not change
// until the call has succeeded.
#include "rank/calls/launch/list.h"

#include <gtest/gtest.h>

#include "rank/calls/launch/launch_testing.h"

namespace infold::rank {
namespace {

using testing::Ranks;
using testing::Tensor;
using testing::terms_of;

constexpr std::size_t kLarge = Fusion::kElementsMax + 1;

CallRequest list_of(std::span<const MutableTensorView> list, bool keeps) {
  CallRequest request{core::Collective::all_reduce, {}, {}, 0, {.keep_input = keeps}};
  request.is_list = true;
  request.list = list;
  request.input.type = DataType::i32;
  return request;
}

TEST(ListLaunch, SumsEachTensorInPlace) {
  for (const bool keeps : {true, false}) {
    ScratchPool pool;
    ListLaunch first(pool), second(pool);
    Tensor small[2] = {Tensor(5, 1), Tensor(5, 2)};
    Tensor large[2] = {Tensor(kLarge, 10), Tensor(kLarge, 20)};
    Tensor last[2] = {Tensor(40, 100), Tensor(40, 200)};
    for (int turn = 0; turn < 2; ++turn) {  // the second turn reuses memory and lists
      const std::vector<MutableTensorView> lists[2] = {{small[0], large[0], last[0]},
                                                       {small[1], large[1], last[1]}};
      const Tensor before = large[0];
      Ranks ranks;
      ranks.begin(first, list_of(lists[0], keeps), 2);
      ranks.begin(second, list_of(lists[1], keeps), 2);
      EXPECT_EQ(ranks.outline().transfers, 2U) << "one for both small ones";
      EXPECT_EQ(ranks.outline().elements, 45 + kLarge);
      EXPECT_EQ(ranks.outline().input_survives, keeps);
      const Tensor small_before = small[0];
      ranks.carry_all();
      EXPECT_EQ(small[0], small_before);
      if (keeps) {
        EXPECT_EQ(large[0], before);
      }
      EXPECT_FALSE(first.deliver().has_value());
      EXPECT_FALSE(second.deliver().has_value());
      first.clear();
      second.clear();
      const int factor = 1 << turn;
      for (int rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(small[rank], Tensor(5, 3 * factor));
        EXPECT_EQ(large[rank], Tensor(kLarge, 30 * factor));
        EXPECT_EQ(last[rank], Tensor(40, 300 * factor));
      }
    }
  }
}

TEST(ListLaunch, WhatIsNotDeliveredChangesNothing) {
  ScratchPool pool;
  ListLaunch launch(pool);
  Tensor small(5, 1), large(kLarge, 1);
  const std::vector<MutableTensorView> list = {small, large};
  Ranks ranks;
  ranks.begin(launch, list_of(list, true), 1);
  ranks.carry_all();
  launch.clear();
  EXPECT_EQ(small, Tensor(5, 1));
  EXPECT_EQ(large, Tensor(kLarge, 1));
  EXPECT_GT(pool.memory_bytes(), 0U) << "what was staged is back in the pool";
}

TEST(ListLaunch, AnEmptyListIsOneTransferOfNothing) {
  ScratchPool pool;
  ListLaunch launch(pool);
  Ranks ranks;
  ranks.begin(launch, list_of({}, true), 1);
  EXPECT_EQ(ranks.outline().transfers, 1U);
  EXPECT_EQ(launch.transfer(0, {}).elements, 0U);
  EXPECT_FALSE(launch.deliver().has_value());
}

TEST(ListLaunch, AgreedExponentsAreRefused) {
  ScratchPool pool;
  ListLaunch launch(pool);
  std::vector<float> tensor(4);
  const std::vector<MutableTensorView> list = {tensor};
  CallRequest request = list_of(list, true);
  request.input.type = DataType::f32;
  request.options.wire = WireFormat::fixed32;
  const auto refused = launch.begin(request, terms_of(request));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::unsupported);
}

}  // namespace
}  // namespace infold::rank
