// SPDX-License-Identifier: Apache-2.0
#include "compress/selection/largest.h"

#include <limits>

#include "compress/selection/selection_testing.h"

namespace infold::compress {
namespace {

using Indices = std::vector<std::uint32_t>;

// Chooses by sorting all elements of the side.
Indices slow_choice(std::vector<float> tensor, std::size_t kept, Side side) {
  for (float& value : tensor) {
    if (side == Side::above && std::signbit(value)) value = 0;
    if (side == Side::below && !std::signbit(value)) value = 0;
  }
  const std::vector<std::size_t> order = order_by_magnitude(tensor);
  Indices indices(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept));
  std::sort(indices.begin(), indices.end());
  return indices;
}

Indices choice_of(const std::vector<float>& tensor, std::size_t kept, Side side) {
  Indices indices;
  append_kept(tensor, find_cut(tensor, kept, side), side, indices);
  return indices;
}

TEST(Largest, AreThoseOfASort) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (const std::size_t elements : {1, 2, 63, 64, 65, 1000, 5001}) {
    std::vector<float> drawn = draw_tensor(prng, elements);
    for (std::size_t i = 0; i < elements; i += 50) {
      drawn[i] = prng.chance(0.5) ? std::nanf("") : -std::numeric_limits<float>::infinity();
    }
    for (const std::vector<float>& tensor : {drawn, draw_ties(prng, elements)}) {
      for (const Side side : {Side::both, Side::above, Side::below}) {
        for (const std::size_t kept : {std::size_t{1}, elements / 7, elements / 2, elements}) {
          EXPECT_EQ(choice_of(tensor, kept, side), slow_choice(tensor, kept, side))
              << elements << " " << kept << " " << static_cast<int>(side);
        }
      }
    }
  }
}

TEST(Largest, LeavesOutZerosIfAsked) {
  std::vector<float> tensor(100);
  tensor[17] = -2;
  tensor[80] = 1e-45F;
  Indices indices;
  append_kept(tensor, find_cut_above_zero(tensor, 10), Side::both, indices);
  EXPECT_EQ(indices, (Indices{17, 80}));
  EXPECT_EQ(count_from(tensor, 1), 2U);
  EXPECT_EQ(count_from(tensor, 1, Side::above), 1U);
}

TEST(Largest, FloatBelowIsTheLargestThatIsNotAbove) {
  const std::uint64_t seed = draw_seed();
  SCOPED_TRACE(repeat(seed));
  base::Prng prng(seed);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::exp(20 * draw_normal(prng));
    const float below = float_below(value);
    EXPECT_LE(double{below}, value);
    EXPECT_GT(double{std::nextafter(below, std::numeric_limits<float>::infinity())}, value);
  }
  EXPECT_EQ(float_below(0), 0);
  EXPECT_EQ(float_below(0.25), 0.25F);
}

}  // namespace
}  // namespace infold::compress
