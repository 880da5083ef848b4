// SPDX-License-Identifier: Apache-2.0
//
// Tests the methods signsgd, signum and scaledsign.
#include "compress/votes/sign_votes.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "compress/one_rank_testing.h"

namespace infold::compress {
namespace {

std::vector<std::vector<float>> draw_ranks(base::Prng& prng, std::uint32_t world,
                                           std::size_t elements) {
  std::vector<std::vector<float>> tensors;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    tensors.push_back(draw_tensor(prng, elements));
    tensors.back()[prng.below(elements)] = 0;
  }
  return tensors;
}

float sign(float value) { return value >= 0 ? 1.0F : -1.0F; }

TEST(SignSgd, GivesTheMajorityOfAllRanks) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::string method : {"signsgd", "signum"}) {
    for (const std::uint32_t world : {1, 2, 3, 4, 7, 8, 15, 16, 33}) {
      const auto tensors = draw_ranks(prng, world, 500);
      RoundTable ranks = make_table(choose(method, {{"abstain", 0}}), {500, {}}, world);
      ASSERT_TRUE(ranks.meet(tensors, {.seed = seed}));
      const auto mean = ranks.mean_of(0);
      for (std::size_t i = 0; i < mean.size(); ++i) {
        float sum = 0;
        for (const auto& tensor : tensors) sum += sign(tensor[i]);
        EXPECT_EQ(mean[i], sum >= 0 ? 1.0F : -1.0F) << i;
        EXPECT_EQ(ranks.sent_by(world - 1)[i], sign(tensors.back()[i])) << i;
      }
    }
  }
}

// In an even world, exactly one rank abstains from each element, and which one it is changes with
// the step.
TEST(SignSgd, LetsOneRankOfAnEvenWorldAbstain) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::uint32_t world : {1, 2, 3, 4, 7, 8, 16}) {
    constexpr std::size_t kElements = 300;
    const auto tensors = draw_ranks(prng, world, kElements);
    RoundTable ranks = make_table(choose("signsgd"), {kElements, {}}, world);
    std::vector<std::size_t> first_absent;
    for (std::uint64_t step = 0; step < 40; ++step) {
      ASSERT_TRUE(ranks.meet(tensors, {.seed = seed, .step = step}));
      std::vector<float> sums(kElements);
      std::vector<int> absent(kElements);
      for (std::size_t rank = 0; rank < world; ++rank) {
        const auto sent = ranks.sent_by(rank);
        for (std::size_t i = 0; i < kElements; ++i) {
          sums[i] += sent[i];
          absent[i] += sent[i] == 0 ? 1 : 0;
          if (sent[i] == 0 && i == 0) first_absent.push_back(rank);
          EXPECT_TRUE(sent[i] == 0 || sent[i] == sign(tensors[rank][i]));
        }
      }
      const auto mean = ranks.mean_of(0);
      for (std::size_t i = 0; i < kElements; ++i) {
        EXPECT_EQ(absent[i], world % 2 == 0 ? 1 : 0);
        EXPECT_NE(sums[i], 0);
        EXPECT_EQ(mean[i], sign(sums[i]));
      }
    }
    if (world % 2 == 1) continue;
    std::sort(first_absent.begin(), first_absent.end());
    EXPECT_NE(first_absent.front(), first_absent.back());
  }
}

TEST(SignSgd, ShipsNarrowerLanesWhenARankAbstains) {
  const std::vector<float> tensor(9600, 1.0F);
  for (const auto& [world, thin, full] :
       {std::tuple(2U, 1200U, 2400U), {4U, 2400U, 3840U}, {8U, 3840U, 4800U}}) {
    for (const double abstain : {1.0, 0.0}) {
      const auto compressor = make_one("signsgd", {{"abstain", abstain}}, 9600, world);
      const Leg leg = compressor->begin(tensor, {.world = world});
      EXPECT_EQ(leg.travel, Travel::lanes);
      EXPECT_EQ(leg.sent.size(), abstain == 1 ? thin : full) << world;
    }
  }
}

TEST(SignSgd, HasNoResidual) {
  EXPECT_FALSE(CompressionChoice::make({"signsgd", {}, "residual", {}}).has_value());
  EXPECT_TRUE(CompressionChoice::make({"signum", {}, "momentum", {}}).has_value());
}

// By the formula, the result is the mean magnitude of a bucket over all ranks, times the mean of
// the signs that were sent.
TEST(ScaledSign, GivesTheMeanOfScaledSigns) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::uint32_t world : {1, 2, 5, 8}) {
    for (const double abstain : {0.0, 1.0}) {
      for (const std::size_t bucket : {0, 64}) {
        constexpr std::size_t kElements = 400;
        const auto tensors = draw_ranks(prng, world, kElements);
        const Settings::Given settings = {{"abstain", abstain},
                                          {"bucket", static_cast<double>(bucket)}};
        RoundTable ranks = make_table(choose("scaledsign", settings), {kElements, {}}, world);
        ASSERT_TRUE(ranks.meet(tensors, {.seed = seed}));
        const auto mean = ranks.mean_of(0);
        const std::size_t size = bucket == 0 ? kElements : bucket;
        for (std::size_t i = 0; i < kElements; ++i) {
          const std::size_t first = i / size * size;
          const std::size_t end = std::min(first + size, kElements);
          double magnitudes = 0;
          double signs = 0;
          for (std::size_t rank = 0; rank < world; ++rank) {
            for (std::size_t k = first; k < end; ++k) {
              magnitudes += double{std::abs(tensors[rank][k])};
            }
            const float sent = ranks.sent_by(rank)[i];
            signs += sent == 0 ? 0 : double{sign(tensors[rank][i])};
          }
          const double scale = magnitudes / static_cast<double>((end - first) * world);
          EXPECT_NEAR(double{mean[i]}, scale * signs / world, 1e-6 * scale) << i;
        }
      }
    }
  }
}

// Over all ranks, what came in is what was sent plus what is kept, even where ranks abstain.
TEST(ScaledSign, TelescopesOverAllRanks) {
  constexpr std::size_t kElements = 200;
  constexpr std::uint32_t kWorld = 4;
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const CompressionChoice choice = choose("scaledsign", {}, "residual");
  RoundTable ranks = make_table(choice, {kElements, {}}, kWorld);
  std::vector<std::unique_ptr<Memory>> memories;
  for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
    memories.push_back(choice.make_memory({kElements, {}}));
  }
  std::vector<double> came(kElements);
  std::vector<double> given(kElements);
  for (std::uint64_t step = 0; step < 30; ++step) {
    std::vector<std::vector<float>> inputs;
    for (auto& memory : memories) {
      const std::vector<float> gradient = draw_tensor(prng, kElements, 0.3);
      for (std::size_t i = 0; i < kElements; ++i) came[i] += double{gradient[i]} / kWorld;
      const auto input = memory->take_in(gradient);
      inputs.emplace_back(input.begin(), input.end());
    }
    ASSERT_TRUE(ranks.meet(inputs, {.seed = seed, .step = step}));
    const auto mean = ranks.mean_of(0);
    for (std::size_t i = 0; i < kElements; ++i) given[i] += double{mean[i]};
    for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
      memories[rank]->see(*ranks.ranks()[rank]);
      memories[rank]->commit();
    }
    ranks.commit();
  }
  for (auto& memory : memories) {
    const std::vector<float>& residual = *memory->kept()[0].values;
    for (std::size_t i = 0; i < kElements; ++i) given[i] += double{residual[i]} / kWorld;
  }
  for (std::size_t i = 0; i < kElements; ++i) EXPECT_NEAR(given[i], came[i], 1e-3) << i;
}

TEST(ScaledSign, LosesABucketThatIsNotFiniteAtAnyRank) {
  std::vector<std::vector<float>> tensors(3, std::vector<float>(256, 0.5F));
  tensors[2][70] = std::numeric_limits<float>::infinity();
  RoundTable ranks = make_table(choose("scaledsign", {{"bucket", 64}}), {256, {}}, 3);
  ASSERT_TRUE(ranks.meet(tensors, {}));
  const auto mean = ranks.mean_of(1);
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_EQ(std::isnan(mean[i]), i / 64 == 1) << i;
}

}  // namespace
}  // namespace infold::compress
