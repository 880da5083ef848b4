// SPDX-License-Identifier: Apache-2.0
//
// Tests which part each transfer carries, at its root and at the other ranks.
#include "rank/calls/launch/parts.h"

#include <gtest/gtest.h>

#include "rank/calls/launch/launch_testing.h"

namespace infold::rank {
namespace {

using core::Collective;
using testing::Ranks;
using testing::Tensor;
using testing::terms_of;

constexpr int kWorld = 3;
constexpr std::size_t kPart = 200;

Tensor numbered(std::size_t elements, int rank) {
  Tensor tensor(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    tensor[i] = 1000 * rank + static_cast<std::int32_t>(i);
  }
  return tensor;
}

struct Rank {
  ScratchPool pool;
  PartsLaunch launch{pool};
  Tensor part, whole;
};

TEST(PartsLaunch, AGatherBringsEachRanksPart) {
  std::vector<std::unique_ptr<Rank>> all;
  Ranks ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    Rank& own = *all.emplace_back(std::make_unique<Rank>());
    own.part = numbered(kPart, rank);
    own.whole.resize(kPart * kWorld);
    ranks.begin(own.launch, {Collective::broadcast, own.part, own.whole, 0, {}, true}, kWorld);
  }
  EXPECT_EQ(ranks.outline().transfers, 3U);
  EXPECT_EQ(ranks.outline().elements, kPart);
  EXPECT_TRUE(ranks.outline().one_by_one);
  ranks.carry_all();
  Tensor wanted;
  for (int rank = 0; rank < kWorld; ++rank) {
    const Tensor part = numbered(kPart, rank);
    wanted.insert(wanted.end(), part.begin(), part.end());
  }
  for (const auto& own : all) {
    EXPECT_FALSE(own->launch.deliver().has_value());
    EXPECT_EQ(own->whole, wanted);
    own->launch.clear();
    EXPECT_EQ(own->pool.memory_bytes(), 0U);
  }
}

TEST(PartsLaunch, AScatterInPlaceStagesTheOwnPartAlone) {
  for (const bool keeps : {true, false}) {
    std::vector<std::unique_ptr<Rank>> all;
    Ranks ranks;
    for (int rank = 0; rank < kWorld; ++rank) {
      Rank& own = *all.emplace_back(std::make_unique<Rank>());
      own.whole = numbered(kPart * kWorld, rank);
      const auto place =
          std::span(own.whole).subspan(static_cast<std::size_t>(rank) * kPart, kPart);
      ranks.begin(own.launch,
                  {Collective::reduce, own.whole, place, 0, {.keep_input = keeps}, true}, kWorld);
      EXPECT_EQ(ranks.outline().input_survives, keeps);
    }
    ranks.carry_all();
    for (int rank = 0; rank < kWorld; ++rank) {
      Rank& own = *all[static_cast<std::size_t>(rank)];
      const Tensor before = numbered(kPart * kWorld, rank);
      if (keeps) {
        EXPECT_EQ(own.whole, before);
      }
      EXPECT_FALSE(own.launch.deliver().has_value());
      const std::size_t first = static_cast<std::size_t>(rank) * kPart;
      for (std::size_t i = 0; i < own.whole.size(); ++i) {
        const bool is_own = i >= first && i < first + kPart;
        const std::int32_t sum = 3000 + 3 * static_cast<std::int32_t>(i);
        ASSERT_EQ(own.whole[i], is_own ? sum : before[i]) << i;
      }
      own.launch.clear();
      EXPECT_EQ(own.pool.memory_bytes() > 0, keeps);
    }
  }
}

TEST(PartsLaunch, AgreedExponentsAreRefused) {
  ScratchPool pool;
  PartsLaunch launch(pool);
  std::vector<float> whole(4), part(2);
  const CallRequest request = {
      Collective::reduce, whole, part, 0, {.wire = WireFormat::fixed32}, true};
  const auto refused = launch.begin(request, terms_of(request, 0, 2));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::unsupported);
}

}  // namespace
}  // namespace infold::rank
