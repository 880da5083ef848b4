// SPDX-License-Identifier: Apache-2.0
//
// Tests what the measurements of compression methods report, except times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infold/compression_benchmark.h>
#include <infold/compressor.h>

namespace infold {
namespace {

using ::testing::HasSubstr;

std::vector<std::vector<float>> gradients_of(int world, std::size_t elements) {
  std::vector<std::vector<float>> gradients;
  for (int rank = 0; rank < world; ++rank) {
    gradients.push_back(heavy_tailed_gradient(elements, 5, rank));
  }
  return gradients;
}

TEST(CompressionBenchmark, CountsTheBitsOfAllLegs) {
  // 8 bits of 4 ranks need lanes of 10 bits, and each block of 512 elements needs a scale.
  const auto speed =
      measure_codec_speed({.method = "shared"}, {.elements = 5120, .world = 4, .seconds = 0});
  ASSERT_TRUE(speed.has_value()) << speed.error().message;
  EXPECT_DOUBLE_EQ(speed->bits_sent, 32.0 * ((5120 + 2) / 3 + 10) / 5120);
  EXPECT_DOUBLE_EQ(speed->bits_received, speed->bits_sent);
  EXPECT_DOUBLE_EQ(speed->bits_of_formula.value_or(0), speed->bits_sent);
  EXPECT_GT(speed->encode_ratio, 0);
  EXPECT_GT(speed->decode_gbps, 0);

  const auto gathered =
      measure_codec_speed({.method = "minmax"}, {.elements = 5120, .world = 4, .seconds = 0});
  ASSERT_TRUE(gathered.has_value());
  EXPECT_DOUBLE_EQ(gathered->bits_received, 3 * gathered->bits_sent);
}

TEST(CompressionBenchmark, ErrorIsAPartOfTheMeansSquare) {
  const auto gradients = gradients_of(3, 4000);
  EXPECT_LT(measure_codec_error({.method = "none"}, gradients).value_or(1), 1e-14);
  // If all elements but one are dropped, the error comes from all the dropped ones.
  const auto kept = measure_codec_error({.method = "topk", .settings = {{"ratio", 1}}}, gradients);
  EXPECT_LT(kept.value_or(1), 1e-12);
  const std::vector<std::vector<float>> one = {{3, 4, 0, 0}};
  const auto lost = measure_codec_error({.method = "topk", .settings = {{"ratio", 0.25}}}, one);
  EXPECT_DOUBLE_EQ(lost.value_or(0), 9.0 / 25);
}

// A method of matrices compresses the tensor as one, or its speed would be that of `none`.
TEST(CompressionBenchmark, GivesMethodsOfMatricesAMatrix) {
  const auto speed = measure_codec_speed({.method = "powersgd", .settings = {{"rank", 1}}},
                                         {.elements = 4096, .world = 2, .seconds = 0});
  ASSERT_TRUE(speed.has_value()) << speed.error().message;
  EXPECT_DOUBLE_EQ(speed->bits_sent, 32.0 * (64 + 64) / 4096);
}

TEST(CompressionBenchmark, MeasuresWithAGradientThatIsGiven) {
  const std::vector<float> gradient(96, 1);
  const auto speed = measure_codec_speed({.method = "topk", .settings = {{"ratio", 0.5}}},
                                         {.gradient = gradient, .world = 2, .seconds = 0});
  ASSERT_TRUE(speed.has_value()) << speed.error().message;
  EXPECT_LT(speed->bits_sent, 32 * 0.5 + 8 * 32 / 96.0);
}

TEST(CompressionBenchmark, BlockFormatsStandBesideMethods) {
  const auto speed = measure_format_speed(WireFormat::bfp8, {.elements = 5120, .seconds = 0});
  ASSERT_TRUE(speed.has_value()) << speed.error().message;
  EXPECT_DOUBLE_EQ(speed->bits_sent, 8.25);
  EXPECT_DOUBLE_EQ(speed->bits_received, 8.25);
  EXPECT_GT(speed->decode_gbps, 0);
  EXPECT_FALSE(measure_format_speed(WireFormat::native, {.elements = 5120, .seconds = 0}));

  const auto gradients = gradients_of(3, 4096);
  const double of_bfp16 = measure_format_error(WireFormat::bfp16, gradients).value_or(1);
  const double of_bfp8 = measure_format_error(WireFormat::bfp8, gradients).value_or(1);
  EXPECT_GT(of_bfp16, 0);
  EXPECT_LT(of_bfp16, 1e-7);
  EXPECT_LT(of_bfp16, of_bfp8);
  EXPECT_LT(of_bfp8, 1e-3);
}

TEST(CompressionBenchmark, RanksShareAPartOfTheirGradients) {
  const auto gradients = gradients_of(2, 20000);
  EXPECT_EQ(gradients, gradients_of(2, 20000));
  double together = 0;
  double square = 0;
  for (std::size_t i = 0; i < gradients[0].size(); ++i) {
    together += double{gradients[0][i]} * double{gradients[1][i]};
    square += double{gradients[0][i]} * double{gradients[0][i]};
  }
  EXPECT_GT(together, 0.2 * square);
  EXPECT_LT(together, 0.9 * square);
}

TEST(CompressionBenchmark, TakesAMethodOfTheProgram) {
  class Half final : public compress::GatheredCompressor {
    void encode(std::span<const float> tensor, const compress::Turn&,
                std::vector<std::byte>& code) override {
      code.assign(tensor.size() * 2, std::byte{});
    }
    bool add(std::span<const std::byte>, std::span<double>) const override { return true; }
  };
  ASSERT_TRUE(compress::add_method({.name = "halves", .make = [](const auto&, const auto&) {
                                      return std::make_unique<Half>();
                                    }}));
  const auto speed =
      measure_codec_speed({.method = "halves"}, {.elements = 100, .world = 2, .seconds = 0});
  ASSERT_TRUE(speed.has_value()) << speed.error().message;
  EXPECT_EQ(speed->bits_sent, 16);
  EXPECT_FALSE(speed->bits_of_formula.has_value());
  EXPECT_EQ(measure_codec_error({.method = "halves"}, gradients_of(2, 100)).value_or(0), 1);
}

TEST(CompressionBenchmark, NamesWhatIsWrong) {
  const auto message = [](const auto& result) {
    return result.has_value() ? std::string() : result.error().message;
  };
  EXPECT_THAT(message(measure_codec_speed({.method = "zip"})), HasSubstr("zip"));
  EXPECT_THAT(message(measure_codec_speed({}, {.elements = 0})), HasSubstr("no elements"));
  EXPECT_THAT(message(measure_codec_error({}, {})), HasSubstr("no gradients"));
  const std::vector<std::vector<float>> zeros = {{0, 0}};
  EXPECT_THAT(message(measure_codec_error({}, zeros)), HasSubstr("is zero"));
  const std::vector<std::vector<float>> uneven = {{1, 2}, {3}};
  EXPECT_THAT(message(measure_codec_error({}, uneven)), HasSubstr("several sizes"));
}

}  // namespace
}  // namespace infold
