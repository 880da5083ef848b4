// SPDX-License-Identifier: Apache-2.0
//
// Small whole numbers, which ranks contribute if a sum must be exact in every type and any order.
// They are a pure function of element and rank, so every party can compute all of them.
#pragma once

#include <cstdint>

namespace infold::oracle {

// The values of every rank repeat after this many elements.
inline constexpr std::uint32_t kWholeValues = 1021;

constexpr std::int32_t whole_value_at(std::uint64_t index, std::uint32_t rank) {
  return static_cast<std::int32_t>((index * 7 + std::uint64_t{rank} * 13) % kWholeValues) - 510;
}

// Returns an element of rank 0 that has the same value.
constexpr std::uint32_t whole_value_of_rank_0(std::uint64_t index, std::uint32_t rank) {
  constexpr std::uint64_t kPerRank = 877;  // 7 times this and 13 have equal remainders
  static_assert(kPerRank * 7 % kWholeValues == 13);
  return static_cast<std::uint32_t>((index + rank * kPerRank) % kWholeValues);
}

}  // namespace infold::oracle
