// SPDX-License-Identifier: Apache-2.0
//
// Compares exact sums by one kernel set and by the scalar loops over the same random contributions.
// Both must take the same steps and round to the same bits. differential.h uses it.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "core/aggregator/arithmetic.h"
#include "core/exact/exact_sums.h"
#include "core/exact/exact_testing.h"
#include "numeric/differential_input.h"

namespace infold::numeric {

// Returns an empty text if both agree.
inline std::string compare_exact_sums(const core::Arithmetic& arithmetic, core::DataType dtype,
                                      InputBytes& input) {
  constexpr std::uint32_t kElementsMax = 80;
  base::Prng prng(input.take<std::uint64_t>());
  const auto draw = static_cast<core::ExactDraw>(input.below(core::kExactDraws));
  const std::uint32_t ranks = 1 + input.below(9);
  const std::uint32_t elements = 1 + input.below(kElementsMax);
  core::ExactSums::Options options = {.sums = 1,
                                      .wide_sums = 1,
                                      .elements_max = kElementsMax,
                                      .bin_words_max = core::bin_words_max(kElementsMax * 8)};
  core::ExactSums scalar(options);
  options.arithmetic = arithmetic.exact;
  core::ExactSums vector(options);
  const auto all = core::draw_contributions(dtype, draw, ranks, elements, prng);
  const std::uint32_t divisor_at_once = prng.below(2) == 0 ? 1 : ranks;
  for (const auto& rank : all) {
    scalar.add(0, dtype, rank.data(), elements);
    vector.add(0, dtype, rank.data(), elements);
  }
  if (scalar.repaired() != vector.repaired() || scalar.binned() != vector.binned()) {
    return "another step of an exact sum";
  }
  std::vector<std::byte> expected(elements * element_bytes(dtype)), result(expected.size());
  for (const std::uint32_t divisor : {1U, ranks}) {
    scalar.round(0, dtype, elements, divisor, expected.data());
    vector.round(0, dtype, elements, divisor, result.data());
    if (expected != result) return "exact sum divided by " + std::to_string(divisor);
  }
  scalar.end(0);
  vector.end(0);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::byte* const x = all[rank].data();
    if (rank + 1 < ranks) {
      scalar.add(0, dtype, x, elements);
      vector.add(0, dtype, x, elements);
    } else {
      scalar.add_last(0, dtype, x, elements, divisor_at_once, expected.data());
      vector.add_last(0, dtype, x, elements, divisor_at_once, result.data());
    }
  }
  if (expected != result) return "exact sum rounded with the last contribution";
  return "";
}

}  // namespace infold::numeric
