// SPDX-License-Identifier: Apache-2.0
//
// Provides tensors and jobs for tests of compressors.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "compress/choice.h"
#include "compress/normal.h"
#include "compress/round_table.h"

namespace infold::compress {

// Draws a different seed in each run, unless INFOLD_CODEC_SEED sets one. Print it with
// SCOPED_TRACE(repeat(seed)).
inline std::uint64_t draw_seed() {
  const char* const given = std::getenv("INFOLD_CODEC_SEED");
  if (given != nullptr) return std::strtoull(given, nullptr, 10);
  const auto started = ::testing::UnitTest::GetInstance()->start_timestamp();
  return base::mix64(static_cast<std::uint64_t>(started)) >> 32;
}

inline std::string repeat(std::uint64_t seed) {
  return "repeat with INFOLD_CODEC_SEED=" + std::to_string(seed);
}

// Draws a normal number times the exponential of another one, because gradients have heavy tails.
inline std::vector<float> draw_tensor(base::Prng& prng, std::size_t elements, double tail = 1) {
  std::vector<float> tensor(elements);
  for (float& value : tensor) {
    value = static_cast<float>(draw_normal(prng) * std::exp(tail * draw_normal(prng)));
  }
  return tensor;
}

// Makes a table of `world` ranks with the same choice.
inline RoundTable make_table(const CompressionChoice& choice, const Shape& shape,
                             std::uint32_t world) {
  RoundTable::Compressors ranks;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    auto compressor = choice.make_compressor(shape, world);
    EXPECT_TRUE(compressor.has_value()) << compressor.error().message;
    ranks.push_back(*std::move(compressor));
  }
  return RoundTable(std::move(ranks));
}

inline CompressionChoice choose(const std::string& method, Settings::Given settings = {},
                                const std::string& memory = "none") {
  auto choice = CompressionChoice::make({method, std::move(settings), memory, {}});
  EXPECT_TRUE(choice.has_value()) << choice.error().message;
  return *choice;
}

inline double squared_error(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::pow(double{a[i]} - double{b[i]}, 2);
  return sum;
}

inline double squared_length(const std::vector<float>& a) {
  double sum = 0;
  for (const float value : a) sum += std::pow(double{value}, 2);
  return sum;
}

}  // namespace infold::compress
