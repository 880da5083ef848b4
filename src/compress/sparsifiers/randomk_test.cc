// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

constexpr std::uint32_t kWorld = 4;

// Returns which elements of a tensor of ones a step sends.
std::vector<bool> drawn(const CompressionChoice& choice, std::size_t elements, const Turn& turn) {
  const std::vector<float> sent = step_of_one(choice, std::vector<float>(elements, 1), turn).sent;
  std::vector<bool> is_sent(elements);
  for (std::size_t i = 0; i < elements; ++i) is_sent[i] = sent[i] == 1;
  return is_sent;
}

TEST(RandomK, SendsAsManyBlocksAsItShall) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  for (const std::size_t block : {1, 7, 64}) {
    for (const double ratio : {0.001, 0.01, 0.5, 1.0}) {
      for (const std::size_t elements : {1, 10, 640, 1000, 6500}) {
        const CompressionChoice choice =
            choose("randomk", {{"ratio", ratio}, {"block", static_cast<double>(block)}});
        const std::vector<bool> is_sent = drawn(choice, elements, {.seed = seed});
        const std::size_t blocks = (elements + block - 1) / block;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < blocks; ++i) {
          kept += is_sent[i * block] ? 1 : 0;
          for (std::size_t j = i * block; j < std::min(elements, (i + 1) * block); ++j) {
            EXPECT_EQ(is_sent[j], is_sent[i * block]) << "block " << i << " is whole";
          }
        }
        const double wanted = std::floor(ratio * static_cast<double>(blocks));
        EXPECT_EQ(static_cast<double>(kept), std::max(1.0, wanted));
      }
    }
  }
}

TEST(RandomK, MeanIsExactAndOfTheSameElementsAtAllRanks) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  constexpr std::size_t kElements = 1003;
  const CompressionChoice choice = choose("randomk", {{"ratio", 0.3}, {"block", 10}});
  RoundTable table = make_table(choice, {kElements, {}}, kWorld);
  std::vector<std::vector<float>> tensors;
  for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
    tensors.push_back(draw_tensor(prng, kElements));
  }
  const Turn turn{.seed = seed, .step = 5, .parameter = 3};
  ASSERT_TRUE(table.meet(tensors, turn));
  const std::vector<bool> is_sent = drawn(choice, kElements, turn);
  for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
    const std::vector<float> sent = table.sent_by(rank);
    const std::vector<float> mean = table.mean_of(rank);
    for (std::size_t i = 0; i < kElements; ++i) {
      long double sum = 0;
      for (const std::vector<float>& tensor : tensors) sum += tensor[i];
      EXPECT_EQ(sent[i], is_sent[i] ? tensors[rank][i] : 0);
      EXPECT_EQ(mean[i], is_sent[i] ? static_cast<float>(sum / kWorld) : 0);
    }
  }
  const auto count = static_cast<std::size_t>(std::count(is_sent.begin(), is_sent.end(), true));
  EXPECT_EQ(table.bytes_sent(), 4 * count);
}

TEST(RandomK, DrawsAnewForEachStepParameterAndSeed) {
  const CompressionChoice choice = choose("randomk", {{"ratio", 0.2}});
  const std::vector<bool> first = drawn(choice, 1000, {.seed = 1, .step = 1, .parameter = 1});
  EXPECT_EQ(first, drawn(choice, 1000, {.seed = 1, .step = 1, .parameter = 1}));
  EXPECT_NE(first, drawn(choice, 1000, {.seed = 2, .step = 1, .parameter = 1}));
  EXPECT_NE(first, drawn(choice, 1000, {.seed = 1, .step = 2, .parameter = 1}));
  EXPECT_NE(first, drawn(choice, 1000, {.seed = 1, .step = 1, .parameter = 2}));
}

// Each element, and each pair of neighbours, must be drawn as often as expected, within 6 standard
// deviations.
TEST(RandomK, DrawsAllElementsAlike) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  constexpr std::size_t kElements = 50;
  constexpr int kSteps = 10000;
  constexpr double kKept = 10;
  const CompressionChoice choice = choose("randomk", {{"ratio", kKept / kElements}});
  std::vector<int> counts(kElements);
  std::vector<int> pairs(kElements);
  for (int step = 0; step < kSteps; ++step) {
    const auto is_sent =
        drawn(choice, kElements, {.seed = seed, .step = static_cast<std::uint64_t>(step)});
    for (std::size_t i = 0; i < kElements; ++i) {
      counts[i] += is_sent[i] ? 1 : 0;
      pairs[i] += is_sent[i] && is_sent[(i + 1) % kElements] ? 1 : 0;
    }
  }
  const auto expect_chance = [](int count, double part) {
    EXPECT_NEAR(count, kSteps * part, 6 * std::sqrt(kSteps * part * (1 - part)));
  };
  for (std::size_t i = 0; i < kElements; ++i) {
    expect_chance(counts[i], kKept / kElements);
    expect_chance(pairs[i], kKept / kElements * (kKept - 1) / (kElements - 1));
  }
}

}  // namespace
}  // namespace infold::compress
