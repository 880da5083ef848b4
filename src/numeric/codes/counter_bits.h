// SPDX-License-Identifier: Apache-2.0
//
// Random bits by counter: a function of a key and an index, and of nothing else. Not for secrets.
#pragma once

#include <cstdint>

namespace infold::numeric {

// What bits of indices with these high 32 bits are made from.
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

// The two multiplications pass the usual tests of bit avalanche, and fit in vectors.
constexpr std::uint32_t counter_bits(std::uint64_t key, std::uint64_t index) {
  const CounterKey parts = CounterKey::of(key, index);
  std::uint32_t value = static_cast<std::uint32_t>(index) ^ parts.first;
  value = (value ^ (value >> 16)) * kCounterFactors[0] + parts.second;
  value = (value ^ (value >> 15)) * kCounterFactors[1];
  return value ^ (value >> 16);
}

// Uniform in [0, 1), a multiple of 2^-24.
constexpr float uniform_of(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1.0p-24F;
}

}  // namespace infold::numeric
