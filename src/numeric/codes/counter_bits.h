// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random bits, which depend only on a key and an index. Do not use them for secrets.
#pragma once

#include <cstdint>

namespace infold::numeric {

// The key for all indices that have the same high 32 bits.
struct CounterKey {
  std::uint32_t first;
  std::uint32_t second;

  static constexpr CounterKey of(std::uint64_t key, std::uint64_t index) {
    const auto high = static_cast<std::uint32_t>(index >> 32);
    return {static_cast<std::uint32_t>(key),
            static_cast<std::uint32_t>(key >> 32) + high * 0x9E3779B9U};
  }
};

inline constexpr std::uint32_t kCounterFactors[] = {0x7FEB352D, 0x846CA68B};

// The two multiplications pass the usual avalanche tests, and work in vectors.
constexpr std::uint32_t counter_bits(std::uint64_t key, std::uint64_t index) {
  const CounterKey parts = CounterKey::of(key, index);
  std::uint32_t value = static_cast<std::uint32_t>(index) ^ parts.first;
  value = (value ^ (value >> 16)) * kCounterFactors[0] + parts.second;
  value = (value ^ (value >> 15)) * kCounterFactors[1];
  return value ^ (value >> 16);
}

// Returns a multiple of 2^-24, uniform in [0, 1).
constexpr float uniform_of(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1.0p-24F;
}

}  // namespace infold::numeric
