// SPDX-License-Identifier: Apache-2.0
//
// Tensors and jobs for tests of compressors.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "codec/compress/choice.h"
#include "codec/compress/normal.h"
#include "codec/compress/round_table.h"

namespace infold::codec {

// Another seed at each run, or the one of INFOLD_CODEC_SEED. Print it with
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

// Gradients have heavy tails: a normal times the exponential of a normal.
inline std::vector<float> draw_tensor(base::Prng& prng, std::size_t elements, double tail = 1) {
  std::vector<float> tensor(elements);
  for (float& value : tensor) {
    value = static_cast<float>(draw_normal(prng) * std::exp(tail * draw_normal(prng)));
  }
  return tensor;
}

// As many ranks with one choice.
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

}  // namespace infold::codec
