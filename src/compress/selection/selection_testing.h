// SPDX-License-Identifier: Apache-2.0
//
// Provides tensors and the step of one rank for tests of methods that choose elements.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "compress/one_rank_testing.h"
#include "compress/selection/index_code.h"

namespace infold::compress {

inline std::vector<float> negated_magnitudes(std::vector<float> tensor) {
  for (float& value : tensor) value = -std::abs(value);
  return tensor;
}

// Draws many equal magnitudes of both signs.
inline std::vector<float> draw_ties(base::Prng& prng, std::size_t elements) {
  std::vector<float> tensor(elements);
  for (float& value : tensor) value = static_cast<float>(prng.between(-3, 3));
  return tensor;
}

struct OneStep {
  std::vector<float> sent;
  std::vector<float> mean;
  std::size_t bytes = 0;
};

// Makes a step in a job of one rank.
inline OneStep step_of_one(const CompressionChoice& choice, const std::vector<float>& tensor,
                           const Turn& turn = {.seed = 1}) {
  RoundTable table = make_table(choice, {tensor.size(), {}}, 1);
  const std::vector<std::vector<float>> tensors = {tensor};
  EXPECT_TRUE(table.meet(tensors, turn));
  return {table.sent_by(0), table.mean_of(0), table.bytes_sent()};
}

// Counts the elements that were sent. Requires: none of them is zero.
inline std::size_t count_sent(const std::vector<float>& sent) {
  return static_cast<std::size_t>(
      std::count_if(sent.begin(), sent.end(), [](float value) { return value != 0; }));
}

// Returns indices in the order of falling magnitudes. NaNs come first, and equal magnitudes are in
// the order of their indices.
inline std::vector<std::size_t> order_by_magnitude(const std::vector<float>& tensor) {
  std::vector<std::size_t> order(tensor.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (std::isnan(tensor[a]) || std::isnan(tensor[b])) {
      return std::isnan(tensor[a]) == std::isnan(tensor[b]) ? a < b : std::isnan(tensor[a]);
    }
    const float of_a = std::abs(tensor[a]);
    const float of_b = std::abs(tensor[b]);
    return of_a == of_b ? a < b : of_a > of_b;
  });
  return order;
}

// Returns the most bytes that a code of this many random elements may have. It has a count, indices
// and values. The indices need their entropy, plus what the Rice code adds and an allowance for
// chance.
inline double bytes_most(std::size_t count, std::size_t elements, double value_bits) {
  const auto kept = static_cast<double>(count);
  const double indices = entropy_of_indices(kept, static_cast<double>(elements));
  const double coded = std::min(kept, static_cast<double>(elements) - kept);
  return 4 + (indices + 0.12 * coded + 8 * std::sqrt(coded) + kept * value_bits) / 8 + 4;
}

// Feeds wrong codes to a compressor that began with this tensor. Codes of the wrong length must be
// refused. Changed bytes may happen to make a valid code, so the test only demands that nothing is
// read or written out of bounds.
inline void feed_wrong_codes(const CompressionChoice& choice, const std::vector<float>& tensor,
                             base::Prng& prng) {
  auto compressor = choice.make_compressor({tensor.size(), {}}, 1).value();
  const std::span<const std::byte> sent = compressor->begin(tensor, {.seed = 1}).sent;
  const std::vector<std::byte> code(sent.begin(), sent.end());
  ASSERT_TRUE(takes(*compressor, code));
  for (std::size_t length = 0; length < code.size(); ++length) {
    EXPECT_FALSE(takes(*compressor, std::span(code).first(length))) << length;
  }
  for (const std::size_t more : {1, 2, 100}) {
    std::vector<std::byte> longer = code;
    longer.resize(code.size() + more);
    EXPECT_FALSE(takes(*compressor, longer)) << more;
  }
  std::vector<float> mean(tensor.size());
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> changed = code;
    for (std::uint64_t change = 1 + prng.below(4); change > 0; --change) {
      changed[prng.below(changed.size())] = static_cast<std::byte>(prng.next());
    }
    if (takes(*compressor, changed)) compressor->write_mean(mean);
  }
  ASSERT_TRUE(takes(*compressor, code));
}

}  // namespace infold::compress
