// SPDX-License-Identifier: Apache-2.0
//
// Tests what must hold for all methods with a codebook for each bucket, with settings at both ends
// of their limits.
#include "compress/quantisers/codebook.h"

#include <cstring>
#include <limits>

#include "compress/one_rank_testing.h"

namespace infold::compress {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Case {
  std::string method;
  Settings::Given settings;
  bool has_signed_head = false;
};

std::vector<Case> cases() {
  std::vector<Case> all = {{"terngrad", {{"bucket", 100}}},
                           {"terngrad", {{"bucket", 100}, {"clip", 2.5}}},
                           {"natural", {{"bucket", 100}}},
                           {"table8", {{"bucket", 100}}}};
  for (const double bits : {2, 3, 5, 8}) {
    all.push_back({"qsgd", {{"bucket", 100}, {"bits", bits}}});
    all.push_back({"qsgd", {{"bucket", 100}, {"levels", 5 * bits}}});
    all.push_back({"minmax", {{"bucket", 100}, {"bits", bits - 1}}, true});
    all.push_back({"minmax", {{"bucket", 100}, {"bits", bits}, {"random", 0}}, true});
  }
  for (const double bins : {2, 3, 7, 64, 256}) {
    all.push_back({"sketchml", {{"bucket", 100}, {"bins", bins}}, true});
  }
  return all;
}

class EachCodebook : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Compressor> make(std::size_t elements) const {
    return make_one(GetParam().method, GetParam().settings, elements);
  }
  std::vector<float> sent(const std::vector<float>& tensor) const {
    return what_is_sent(GetParam().method, GetParam().settings, tensor);
  }
};

TEST_P(EachCodebook, ShipsTheBytesOfItsFormula) {
  base::Prng prng(1);
  for (const std::size_t elements : {1, 99, 100, 101, 777}) {
    const CompressionChoice choice = choose(GetParam().method, GetParam().settings);
    const double bits = choice.method().formula_bits({elements, {}}, choice.settings(), 1);
    const auto bytes = code_of(*make(elements), draw_tensor(prng, elements)).size();
    EXPECT_GE(static_cast<double>(bytes), bits / 8 - 1e-9);
    EXPECT_LE(static_cast<double>(bytes), bits / 8 + 1);
  }
}

TEST_P(EachCodebook, LosesABucketThatIsNotFiniteAndNoOther) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  std::vector<float> tensor = draw_tensor(prng, 550);
  tensor[120] = kNan;
  tensor[399] = -kInfinity;
  tensor[549] = kInfinity;
  const std::vector<float> result = sent(tensor);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t bucket = i / 100;
    const bool is_lost = bucket == 1 || bucket == 3 || bucket == 5;
    EXPECT_EQ(std::isnan(result[i]), is_lost) << i;
    EXPECT_FALSE(std::isinf(result[i])) << i;
  }
}

TEST_P(EachCodebook, RefusesCodesOfAnotherLength) {
  base::Prng prng(2);
  const std::vector<float> tensor = draw_tensor(prng, 333);
  const auto compressor = make(333);
  std::vector<std::byte> code = code_of(*compressor, tensor);
  EXPECT_TRUE(takes(*compressor, code));
  for (std::size_t size = 0; size < code.size(); ++size) {
    EXPECT_FALSE(takes(*compressor, std::span(code).first(size))) << size;
  }
  code.push_back(std::byte{0});
  EXPECT_FALSE(takes(*compressor, code));
}

TEST_P(EachCodebook, RefusesHeadsThatNoRankMakes) {
  base::Prng prng(3);
  const auto compressor = make(250);
  const std::vector<std::byte> code = code_of(*compressor, draw_tensor(prng, 250));
  const auto takes_head = [&](float head) {
    std::vector<std::byte> changed = code;
    std::memcpy(changed.data(), &head, sizeof(head));
    return takes(*compressor, changed);
  };
  EXPECT_FALSE(takes_head(kInfinity));
  EXPECT_FALSE(takes_head(-kInfinity));
  EXPECT_EQ(takes_head(-1e-3F), GetParam().has_signed_head);
  EXPECT_TRUE(takes_head(kNan));
  std::vector<float> mean(250);
  compressor->write_mean(mean);
  for (std::size_t i = 0; i < mean.size(); ++i) EXPECT_EQ(std::isnan(mean[i]), i < 100) << i;
}

// No bytes may make it crash or give different results.
TEST_P(EachCodebook, SurvivesBytesThatNoRankSent) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const auto compressor = make(321);
  const std::vector<std::byte> code = code_of(*compressor, draw_tensor(prng, 321));
  std::size_t taken = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> changed = code;
    const std::uint64_t changes = 1 + prng.below(round % 2 == 0 ? 3 : code.size());
    for (std::uint64_t k = 0; k < changes; ++k) {
      changed[prng.below(changed.size())] = static_cast<std::byte>(prng.next());
    }
    if (!takes(*compressor, changed)) continue;
    ++taken;
    std::vector<float> once(321);
    compressor->write_mean(once);
    ASSERT_TRUE(takes(*compressor, changed));
    std::vector<float> again(321);
    compressor->write_mean(again);
    ASSERT_EQ(std::memcmp(once.data(), again.data(), sizeof(float) * once.size()), 0);
  }
  EXPECT_GT(taken, 0);
}

TEST_P(EachCodebook, HasAResidualOnlyWhereItConverges) {
  const auto choice =
      CompressionChoice::make({GetParam().method, GetParam().settings, "residual", {}});
  const bool converges = GetParam().method != "terngrad" && GetParam().method != "minmax";
  EXPECT_EQ(choice.has_value(), converges);
}

INSTANTIATE_TEST_SUITE_P(AtBothEnds, EachCodebook, testing::ValuesIn(cases()),
                         [](const auto& each) {
                           return each.param.method + "_" + std::to_string(each.index);
                         });

}  // namespace
}  // namespace infold::compress
