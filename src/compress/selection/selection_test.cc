// SPDX-License-Identifier: Apache-2.0
//
// Tests what must hold for all methods that send some elements of a tensor.
#include "compress/selection/selection.h"

#include <cstring>

#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

constexpr std::uint32_t kWorld = 5;

const std::vector<std::string> kNames = {"topk", "threshold", "hard", "dgc",
                                         "adaq", "sidco",     "strom"};

std::vector<std::vector<float>> draw_all(base::Prng& prng, std::size_t elements) {
  std::vector<std::vector<float>> tensors;
  for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
    tensors.push_back(draw_tensor(prng, elements));
  }
  return tensors;
}

// Returns settings under which a long tensor has both sent and unsent elements, whatever the
// method.
Settings::Given settings_of(const std::string& name, int travel) {
  Settings::Given given = {{"travel", travel}};
  if (name == "threshold") given.emplace_back("value", 1.5);
  if (name == "strom") given.emplace_back("tau", 1.5);
  if (name == "hard") given.emplace_back("kept", 1);
  return given;
}

TEST(Selection, MeanIsThatOfWhatWasSent) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::string& name : kNames) {
    for (const int travel : {0, 1}) {
      SCOPED_TRACE(name + " travel " + std::to_string(travel));
      constexpr std::size_t kElements = 3000;
      RoundTable table =
          make_table(choose(name, settings_of(name, travel)), {kElements, {}}, kWorld);
      for (std::uint64_t step = 0; step < 3; ++step) {  // nothing may be left of an earlier step
        ASSERT_TRUE(table.meet(draw_all(prng, kElements), {.seed = seed, .step = step}));
        std::vector<long double> sums(kElements);
        for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
          const std::vector<float> sent = table.sent_by(rank);
          EXPECT_GT(count_sent(sent), 0U);
          EXPECT_LT(count_sent(sent), kElements);
          for (std::size_t i = 0; i < kElements; ++i) sums[i] += sent[i];
        }
        const std::vector<float> mean = table.mean_of(kWorld - 1);
        for (std::size_t i = 0; i < kElements; ++i) {
          EXPECT_FLOAT_EQ(mean[i], static_cast<float>(sums[i] / kWorld)) << i;
        }
      }
    }
  }
}

TEST(Selection, SendsTheSameElementsOnBothWays) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::string& name : kNames) {
    const std::vector<float> tensor = draw_tensor(prng, 4000);
    const OneStep gathered = step_of_one(choose(name, settings_of(name, 0)), tensor);
    const OneStep rows = step_of_one(choose(name, settings_of(name, 1)), tensor);
    EXPECT_EQ(gathered.sent, rows.sent) << name;
    EXPECT_EQ(gathered.mean, rows.mean) << name;
    EXPECT_EQ(rows.bytes, 8 * count_sent(rows.sent)) << name;
  }
}

TEST(Selection, RefusesWrongCodes) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::string& name : kNames) {
    SCOPED_TRACE(name);
    feed_wrong_codes(choose(name, settings_of(name, 0)), draw_tensor(prng, 500), prng);
    feed_wrong_codes(choose(name, settings_of(name, 0)), std::vector<float>(20), prng);
  }
}

TEST(Selection, RefusesMoreElementsThanThereAre) {
  auto compressor = choose("topk").make_compressor({10, {}}, 1).value();
  compressor->begin(std::vector<float>(10), {.seed = 1});
  for (const std::uint32_t count : {11U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    std::vector<std::byte> code(100000, std::byte{0xFF});
    std::memcpy(code.data(), &count, sizeof(count));
    EXPECT_FALSE(takes(*compressor, code)) << count;
  }
}

TEST(Selection, KeepsAtLeastOne) {
  EXPECT_EQ(kept_elements(0.01, 0), 0U);
  EXPECT_EQ(kept_elements(0.01, 1), 1U);
  EXPECT_EQ(kept_elements(0.01, 99), 1U);
  EXPECT_EQ(kept_elements(0.01, 250), 2U);
  EXPECT_EQ(kept_elements(1, 250), 250U);
}

TEST(Selection, RefusesAParameterWithoutIndices) {
  const auto refused = choose("topk").make_compressor({std::size_t{1} << 32, {}}, 1);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::unsupported);
}

}  // namespace
}  // namespace infold::compress
