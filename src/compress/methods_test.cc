// SPDX-License-Identifier: Apache-2.0
//
// Tests what must hold for every method with its usual settings.
#include <cstring>
#include <limits>

#include "compress/testing.h"
#include "compress/unbiased_testing.h"

namespace infold::compress {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kWorld = 4;

class EachMethod : public testing::TestWithParam<Method> {
 protected:
  CompressionChoice choice() const { return choose(GetParam().name); }
  RoundTable table(std::size_t elements) const {
    return make_table(choice(), {elements, {}}, kWorld);
  }
  // Returns the mean, which must be equal bit for bit at all ranks.
  std::vector<float> mean_of_all(RoundTable& table) {
    std::vector<float> mean = table.mean_of(0);
    for (std::size_t rank = 1; rank < table.ranks().size(); ++rank) {
      const std::vector<float> other = table.mean_of(rank);
      if (mean.empty()) continue;  // memcmp() must not get a null pointer
      EXPECT_EQ(std::memcmp(mean.data(), other.data(), mean.size() * sizeof(float)), 0);
    }
    return mean;
  }
  std::vector<std::vector<float>> draw(base::Prng& prng, std::size_t elements) {
    std::vector<std::vector<float>> tensors;
    for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
      tensors.push_back(draw_tensor(prng, elements));
    }
    return tensors;
  }
};

TEST_P(EachMethod, TakesTensorsOfAllLengths) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::size_t elements : {0, 1, 2, 31, 32, 33, 1023, 1025, 5000}) {
    SCOPED_TRACE(elements);
    RoundTable ranks = table(elements);
    ASSERT_TRUE(ranks.meet(draw(prng, elements), {.seed = 1}));
    EXPECT_EQ(mean_of_all(ranks).size(), elements);
  }
}

// Methods whose results are signs are excluded, because there sgn(0) = +1.
TEST_P(EachMethod, KeepsZeros) {
  if (GetParam().bias == Bias::direction) return;
  RoundTable ranks = table(3000);
  ASSERT_TRUE(ranks.meet(std::vector(kWorld, std::vector<float>(3000)), {.seed = 2}));
  for (const float value : mean_of_all(ranks)) EXPECT_EQ(value, 0);
}

// Numbers that are not finite must not cause undefined results, so two runs must agree.
TEST_P(EachMethod, TakesNumbersThatAreNotFinite) {
  base::Prng prng(3);
  std::vector<std::vector<float>> tensors = draw(prng, 4000);
  tensors[1][5] = kNan;
  tensors[2][2100] = kInfinity;
  tensors[3][3999] = -kInfinity;
  RoundTable first = table(4000);
  ASSERT_TRUE(first.meet(tensors, {.seed = 3}));
  RoundTable second = table(4000);
  ASSERT_TRUE(second.meet(tensors, {.seed = 3}));
  const std::vector<float> mean = mean_of_all(first);
  const std::vector<float> again = mean_of_all(second);
  EXPECT_EQ(std::memcmp(mean.data(), again.data(), mean.size() * sizeof(float)), 0);
}

// A NaN must show in the result, so that the program sees it. A vote only has a sign, and random-k
// may not draw the element.
TEST_P(EachMethod, ShowsANan) {
  if (GetParam().bias == Bias::direction || GetParam().name == "randomk") return;
  base::Prng prng(12);
  std::vector<std::vector<float>> tensors = draw(prng, 4000);
  tensors[1][5] = kNan;
  RoundTable ranks = table(4000);
  ASSERT_TRUE(ranks.meet(tensors, {.seed = 3}));
  EXPECT_TRUE(std::isnan(mean_of_all(ranks)[5]));
}

TEST_P(EachMethod, TakesTheSmallestAndTheLargestNumbers) {
  const float least = std::numeric_limits<float>::denorm_min();
  const float most = std::numeric_limits<float>::max();
  for (const float magnitude : {least, 100 * least, most, most / 2}) {
    std::vector<float> tensor(100, magnitude);
    for (std::size_t i = 0; i < tensor.size(); i += 3) tensor[i] = -magnitude;
    RoundTable ranks = table(tensor.size());
    ASSERT_TRUE(ranks.meet(std::vector(kWorld, tensor), {.seed = 4}));
    for (const float value : mean_of_all(ranks)) EXPECT_FALSE(std::isnan(value)) << magnitude;
  }
}

TEST_P(EachMethod, GivesTheSameBitsWhenAStepIsMadeAgain) {
  base::Prng prng(5);
  const std::vector<std::vector<float>> tensors = draw(prng, 2000);
  const Turn turn{.seed = 9, .step = 7, .parameter = 11};
  RoundTable ranks = table(2000);
  ASSERT_TRUE(ranks.meet(tensors, turn));
  const std::vector<float> once = mean_of_all(ranks);
  ASSERT_TRUE(ranks.meet(tensors, turn));
  EXPECT_EQ(mean_of_all(ranks), once);
  ranks.commit();
}

TEST_P(EachMethod, ContinuesFromWhatItKept) {
  base::Prng prng(6);
  const std::vector<std::vector<float>> first = draw(prng, 1500);
  const std::vector<std::vector<float>> second = draw(prng, 1500);
  RoundTable whole = table(1500);
  ASSERT_TRUE(whole.meet(first, {.seed = 1, .step = 0}));
  whole.commit();
  RoundTable resumed = table(1500);
  for (std::size_t rank = 0; rank < kWorld; ++rank) {
    std::vector<Kept> from = whole.ranks()[rank]->kept();
    std::vector<Kept> to = resumed.ranks()[rank]->kept();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i) *to[i].values = *from[i].values;
  }
  ASSERT_TRUE(whole.meet(second, {.seed = 1, .step = 1}));
  ASSERT_TRUE(resumed.meet(second, {.seed = 1, .step = 1}));
  EXPECT_EQ(mean_of_all(whole), mean_of_all(resumed));
}

// With one rank, the mean is what that rank sent.
TEST_P(EachMethod, KnowsWhatItSent) {
  base::Prng prng(7);
  const std::vector<std::vector<float>> tensors = {draw_tensor(prng, 2500)};
  RoundTable ranks = make_table(choice(), {2500, {}}, 1);
  ASSERT_TRUE(ranks.meet(tensors, {.seed = 4}));
  if (GetParam().bias == Bias::direction) return;
  EXPECT_EQ(ranks.mean_of(0), ranks.sent_by(0));
}

TEST_P(EachMethod, SendsTheBytesOfItsFormula) {
  if (!GetParam().formula_bits) return;
  constexpr std::size_t kElements = 100000;
  base::Prng prng(8);
  const Shape shape{kElements, {250, 400}};
  RoundTable ranks = make_table(choice(), shape, kWorld);
  ASSERT_TRUE(ranks.meet(draw(prng, kElements), {.seed = 5}));
  const double formula = GetParam().formula_bits(shape, choice().settings(), kWorld) / 8;
  EXPECT_LE(static_cast<double>(ranks.bytes_sent()), 1.05 * formula + 64);
}

// Other ranks refuse a longer code, and make room for one of this length.
TEST_P(EachMethod, NoCodeIsLongerThanItsLimit) {
  base::Prng prng(13);
  for (const std::size_t elements : {0, 1, 2, 33, 1025, 5000}) {
    SCOPED_TRACE(elements);
    const auto compressor = choice().make_compressor({elements, {}}, kWorld);
    ASSERT_TRUE(compressor.has_value());
    for (const std::vector<float>& tensor :
         {draw_tensor(prng, elements), std::vector<float>(elements), std::vector(elements, kNan)}) {
      const Leg leg = (*compressor)->begin(tensor, {.seed = 6, .world = kWorld});
      if (leg.travel != Travel::gather) break;
      EXPECT_LE(leg.sent.size(), leg.bytes_max);
      EXPECT_TRUE(leg.bytes_max > 0 || elements == 0);
      EXPECT_LE(leg.bytes_max, 2048 + 5 * elements) << "more than the tensor's own bytes";
    }
  }
}

TEST_P(EachMethod, IsUnbiasedIfItSaysSo) {
  if (GetParam().bias == Bias::unbiased) expect_unbiased(choice());
}

// |C(x) - x|^2 is below |x|^2, or at most as large as the method's variance says.
TEST_P(EachMethod, HasTheErrorThatItStates) {
  const Method& method = GetParam();
  if (method.bias == Bias::direction || method.bias == Bias::unknown) return;
  if (method.bias == Bias::unbiased && !method.variance) return;
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  constexpr std::size_t kElements = 20000;
  const Shape shape{kElements, {}};
  const std::vector<std::vector<float>> tensors = {draw_tensor(prng, kElements)};
  RoundTable ranks = make_table(choice(), shape, 1);
  ASSERT_TRUE(ranks.meet(tensors, {.seed = seed}));
  const double error = squared_error(ranks.sent_by(0), tensors[0]) / squared_length(tensors[0]);
  const double most =
      method.bias == Bias::unbiased ? method.variance(shape, choice().settings()) : 1.0;
  EXPECT_LE(error, most);
}

// Everything that was sent plus the residual is everything that came in.
TEST_P(EachMethod, TelescopesWithAResidual) {
  const Method& method = GetParam();
  const auto choice = CompressionChoice::make({method.name, {}, "residual", {}});
  if (!choice) return;
  constexpr std::size_t kElements = 3000;
  const Shape shape{kElements, {}};
  base::Prng prng(10);
  RoundTable ranks = make_table(*choice, shape, 1);
  const std::unique_ptr<Memory> memory = choice->make_memory(shape);
  std::vector<double> came(kElements);
  std::vector<double> sent(kElements);
  double largest = 0;
  for (std::uint64_t step = 0; step < 50; ++step) {
    const std::vector<float> gradient = draw_tensor(prng, kElements, 0.3);
    const std::span<const float> input = memory->take_in(gradient);
    const std::vector<std::vector<float>> tensors = {{input.begin(), input.end()}};
    ASSERT_TRUE(ranks.meet(tensors, {.seed = 1, .step = step}));
    memory->see(*ranks.ranks()[0]);
    const std::vector<float> seen = ranks.sent_by(0);
    ranks.commit();
    memory->commit();
    for (std::size_t i = 0; i < kElements; ++i) {
      came[i] += double{gradient[i]};
      sent[i] += double{seen[i]};
      largest = std::max(largest, std::abs(came[i]) + std::abs(double{seen[i]}));
    }
  }
  const std::vector<float>& residual = *memory->kept()[0].values;
  for (std::size_t i = 0; i < kElements; ++i) {
    EXPECT_NEAR(sent[i] + double{residual[i]}, came[i], largest * 50 * 0x1p-23) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, EachMethod,
                         testing::ValuesIn(built_in_methods().begin(), built_in_methods().end()),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace infold::compress
