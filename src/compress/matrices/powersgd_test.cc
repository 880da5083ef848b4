// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "compress/matrices/factors.h"
#include "compress/testing.h"

namespace infold::compress {
namespace {

using Tensors = std::vector<std::vector<float>>;

constexpr std::uint32_t kWorld = 3;
const Shape kShape{40 * 30, {40, 30}};

// Draws a sum of `rank` outer products, which have different sizes.
std::vector<float> draw_matrix(base::Prng& prng, std::size_t rank, std::span<const float> left) {
  std::vector<float> matrix(kShape.elements);
  for (std::size_t k = 0; k < rank; ++k) {
    std::vector<double> right(30);
    for (double& value : right) value = draw_normal(prng) / static_cast<double>(1 + k);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      matrix[i] += static_cast<float>(double{left[k * 40 + i / 30]} * right[i % 30]);
    }
  }
  return matrix;
}

Tensors draw_matrices(base::Prng& prng, std::size_t rank) {
  std::vector<float> left(rank * 40);
  for (float& value : left) value = static_cast<float>(draw_normal(prng));
  Tensors all;
  for (std::uint32_t i = 0; i < kWorld; ++i) all.push_back(draw_matrix(prng, rank, left));
  return all;
}

std::vector<float> mean_of(const Tensors& tensors) {
  std::vector<float> mean(tensors[0].size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const auto& tensor : tensors) sum += double{tensor[i]};
    mean[i] = static_cast<float>(sum / static_cast<double>(tensors.size()));
  }
  return mean;
}

double relative_error(const std::vector<float>& found, const std::vector<float>& wanted) {
  return squared_error(found, wanted) / squared_length(wanted);
}

// Returns the least squared error that a matrix of this rank can have. It finds one column after
// another with a hundred iterations in f64.
double least_error(std::vector<float> matrix, std::size_t rank) {
  constexpr MatrixShape kMatrix{40, 30};
  for (std::size_t k = 0; k < rank; ++k) {
    std::vector<double> right(30, 1.0);
    std::vector<double> left;
    for (int i = 0; i < 100; ++i) {
      left = times(matrix, kMatrix, right);
      EXPECT_TRUE(normalise(left));
      right = times_transposed(matrix, kMatrix, left);
    }
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      matrix[i] -= static_cast<float>(left[i / 30] * right[i % 30]);
    }
  }
  return squared_length(matrix);
}

TEST(PowerSgd, IsExactForAMatrixOfItsRank) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const Tensors tensors = draw_matrices(prng, 3);
  for (const double rank : {3, 5}) {
    RoundTable ranks = make_table(choose("powersgd", {{"rank", rank}}), kShape, kWorld);
    ASSERT_TRUE(ranks.meet(tensors, {.seed = seed}));
    // The tolerance allows for P in f32, and for columns of P that are nearly alike by chance.
    EXPECT_LT(relative_error(ranks.mean_of(0), mean_of(tensors)), 1e-6);
    EXPECT_EQ(ranks.mean_of(1), ranks.mean_of(0));
    EXPECT_EQ(ranks.bytes_sent(), static_cast<std::size_t>(rank) * (40 + 30) * sizeof(float));
  }
}

TEST(PowerSgd, FollowsAMatrixOverStepsToTheLeastError) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  const Tensors tensors = draw_matrices(prng, 8);
  const std::vector<float> wanted = mean_of(tensors);
  RoundTable ranks = make_table(choose("powersgd", {{"rank", 2}}), kShape, kWorld);
  double first = 0;
  double last = 0;
  for (std::uint64_t step = 0; step < 60; ++step) {
    ASSERT_TRUE(ranks.meet(tensors, {.seed = seed, .step = step}));
    last = squared_error(ranks.mean_of(0), wanted);
    if (step == 0) first = last;
    ranks.commit();
  }
  const double least = least_error(wanted, 2);
  EXPECT_GT(first, last);
  EXPECT_LT(last, 1.1 * least);
  EXPECT_GT(last, 0.98 * least);
}

// The mean of what the ranks sent is the result, so the ranks' errors add up to the result's error.
TEST(PowerSgd, ErrorsOfRanksAddUpToThatOfTheResult) {
  base::Prng prng(3);
  const Tensors tensors = draw_matrices(prng, 10);
  RoundTable ranks = make_table(choose("powersgd"), kShape, kWorld);
  ASSERT_TRUE(ranks.meet(tensors, {.seed = 1}));
  Tensors sent;
  for (std::uint32_t rank = 0; rank < kWorld; ++rank) sent.push_back(ranks.sent_by(rank));
  EXPECT_LT(relative_error(mean_of(sent), ranks.mean_of(0)), 1e-10);
}

TEST(PowerSgd, SendsWhatItKeptAndRepeatsAStep) {
  base::Prng prng(4);
  const Tensors first = draw_matrices(prng, 10);
  const Tensors second = draw_matrices(prng, 10);
  RoundTable whole = make_table(choose("powersgd"), kShape, kWorld);
  RoundTable resumed = make_table(choose("powersgd"), kShape, kWorld);
  ASSERT_TRUE(whole.meet(second, {.seed = 1}));  // fails, and is repeated with other tensors
  ASSERT_TRUE(whole.meet(first, {.seed = 1}));
  whole.commit();
  for (std::size_t rank = 0; rank < kWorld; ++rank) {
    const std::vector<Kept> from = whole.ranks()[rank]->kept();
    ASSERT_EQ(from.size(), 1U);
    *resumed.ranks()[rank]->kept()[0].values = *from[0].values;
  }
  ASSERT_TRUE(whole.meet(second, {.seed = 1, .step = 1}));
  ASSERT_TRUE(resumed.meet(second, {.seed = 1, .step = 1}));
  EXPECT_EQ(whole.mean_of(0), resumed.mean_of(0));
}

// After zeros and after a NaN, its columns begin again with random numbers.
TEST(PowerSgd, RecoversFromZerosAndNaNs) {
  base::Prng prng(5);
  const Tensors usual = draw_matrices(prng, 2);
  Tensors wild = usual;
  wild[1][77] = std::numeric_limits<float>::quiet_NaN();
  RoundTable ranks = make_table(choose("powersgd"), kShape, kWorld);
  for (const Tensors& tensors : {Tensors(kWorld, std::vector<float>(1200)), usual, wild, usual}) {
    ASSERT_TRUE(ranks.meet(tensors, {.seed = 1}));
    const std::vector<float> mean = ranks.mean_of(0);
    if (std::isnan(tensors[1][77])) {
      EXPECT_TRUE(std::all_of(mean.begin(), mean.end(), [](float v) { return std::isnan(v); }));
    } else {
      EXPECT_LE(squared_error(mean, mean_of(tensors)), 1e-10 * squared_length(mean));
    }
    ranks.commit();
  }
}

TEST(PowerSgd, SendsSmallParametersAsTheyAre) {
  for (const Shape& shape :
       {Shape{50, {}}, Shape{50, {50}}, Shape{50, {50, 1}}, Shape{16, {4, 4}}, Shape{0, {0, 3}}}) {
    base::Prng prng(6);
    const Tensors tensors(2, draw_tensor(prng, shape.elements));
    RoundTable ranks = make_table(choose("powersgd"), shape, 2);
    ASSERT_TRUE(ranks.meet(tensors, {.seed = 1}));
    EXPECT_EQ(ranks.mean_of(0), tensors[0]);
    EXPECT_EQ(ranks.bytes_sent(), shape.elements * sizeof(float));
  }
}

TEST(MatrixShape, HasTheFewestRowsAndColumns) {
  const auto cut = [](const std::vector<std::size_t>& sides) {
    std::size_t elements = 1;
    for (const std::size_t side : sides) elements *= side;
    const MatrixShape shape = MatrixShape::of({elements, sides});
    return std::pair(shape.rows, shape.columns);
  };
  EXPECT_EQ(cut({1000, 512}), std::pair(1000UL, 512UL));
  EXPECT_EQ(cut({64, 3, 7, 7}), std::pair(64UL, 147UL));
  EXPECT_EQ(cut({256, 256, 1, 1}), std::pair(256UL, 256UL));
  EXPECT_EQ(cut({4, 2, 300}), std::pair(8UL, 300UL));
  EXPECT_EQ(cut({30}), std::pair(1UL, 30UL));
}

}  // namespace
}  // namespace infold::compress
