// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

// The digits of all elements, from -1 to 1, and the unit that they are multiplied by.
struct Slow {
  double unit = 0;
  std::vector<int> digits;
};

Slow slow_digits(const std::vector<float>& tensor, double s) {
  double most = 0;
  for (const float value : tensor) most = std::max(most, std::abs(double{value}));
  Slow slow{double{static_cast<float>(s * most)}, {}};
  for (const float value : tensor) {
    slow.digits.push_back(slow.unit == 0 ? 0
                                         : static_cast<int>(std::round(double{value} / slow.unit)));
  }
  return slow;
}

// Makes the bytes behind the unit as the comment of the method says: five digits from five fifths,
// and then runs.
std::vector<int> slow_bytes(const Slow& slow) {
  const std::size_t fifth = (slow.digits.size() + 4) / 5;
  std::vector<int> bytes;
  int run = 0;
  const auto end_run = [&] {
    for (; run >= 2; run -= std::min(run, 14)) bytes.push_back(243 + std::min(run, 14) - 2);
    if (run == 1) bytes.push_back(121);
    run = 0;
  };
  for (std::size_t i = 0; i < fifth; ++i) {
    int byte = 0;
    for (std::size_t digit = 0; digit < 5; ++digit) {
      const std::size_t index = digit * fifth + i;
      byte = 3 * byte + 1 + (index < slow.digits.size() ? slow.digits[index] : 0);
    }
    if (byte == 121) {
      ++run;
    } else {
      end_run();
      bytes.push_back(byte);
    }
  }
  end_run();
  return bytes;
}

TEST(ThreeLc, SendsTheDigitsOfItsFormula) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const double s : {1.0, 1.5, 1.999}) {
    for (const std::size_t elements : {1, 4, 5, 6, 7, 1000, 20003}) {
      for (const std::vector<float>& tensor :
           {draw_tensor(prng, elements, 0), draw_tensor(prng, elements, 2),
            draw_ties(prng, elements), negated_magnitudes(draw_tensor(prng, elements))}) {
        const Slow slow = slow_digits(tensor, s);
        const CompressionChoice choice = choose("3lc", {{"s", s}});
        const OneStep step = step_of_one(choice, tensor);
        for (std::size_t i = 0; i < elements; ++i) {
          EXPECT_EQ(double{step.sent[i]}, slow.digits[i] * slow.unit) << tensor[i];
        }
        const std::vector<int> wanted = slow_bytes(slow);
        auto compressor = choice.make_compressor({elements, {}}, 1).value();
        const auto code = compressor->begin(tensor, {.seed = 1}).sent;
        ASSERT_EQ(code.size(), 4 + wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_EQ(std::to_integer<int>(code[4 + i]), wanted[i]) << i;
        }
      }
    }
  }
}

TEST(ThreeLc, NeedsFewerBytesWithALargerS) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const std::vector<float> tensor = draw_tensor(prng, 100000, 0);
  const std::size_t least = step_of_one(choose("3lc", {{"s", 1.9}}), tensor).bytes;
  const std::size_t most = step_of_one(choose("3lc", {{"s", 1.0}}), tensor).bytes;
  EXPECT_LE(least, most);
  EXPECT_LE(most, 100000 / 5 + 4U);
  EXPECT_LE(step_of_one(choose("3lc"), std::vector<float>(100000)).bytes, 100000 / 70 + 5U);
}

TEST(ThreeLc, RoundsTheSmallestNumbers) {
  const float least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> tensor = {least, 0, -least, 3 * least, -2 * least, 2 * least};
  // The unit is 3 times the least number, and half of that is not a float.
  const std::vector<float> wanted = {0, 0, 0, 3 * least, -3 * least, 3 * least};
  EXPECT_EQ(step_of_one(choose("3lc"), tensor).sent, wanted);
}

TEST(ThreeLc, TurnsATensorWithANanIntoNans) {
  for (const float odd : {std::nanf(""), -std::numeric_limits<float>::infinity()}) {
    std::vector<float> tensor(333, 1);
    tensor[200] = odd;
    for (const float value : step_of_one(choose("3lc"), tensor).mean) {
      EXPECT_TRUE(std::isnan(value));
    }
  }
}

TEST(ThreeLc, RefusesWrongCodes) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  feed_wrong_codes(choose("3lc"), draw_tensor(prng, 503), prng);
  feed_wrong_codes(choose("3lc"), std::vector<float>(503), prng);
}

}  // namespace
}  // namespace infold::compress
