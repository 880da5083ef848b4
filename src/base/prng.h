// SPDX-License-Identifier: Apache-2.0
//
// A seeded random number generator (SplitMix64). Every random decision in infold comes from one, so
// that its seed can replay the decision. Do not use it for secrets. A copy continues the same
// sequence.
#pragma once

#include <cstdint>

namespace infold::base {

// Scrambles 64 bits by a fixed bijection. It also serves as a hash of small keys.
constexpr std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

class Prng {
  // The keyword is needed because the type is not ISO C++. g++ and clang have it on every 64-bit
  // target.
  __extension__ using Wide = unsigned __int128;

 public:
  constexpr explicit Prng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    return mix64(state_);
  }

  // Returns a uniform number in [0, bound). Requires: bound > 0. For bounds under 2^32 the bias of
  // the multiplication is below 2^-32, too small to show in our simulations.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }

  // Returns a uniform number in [low, high]. Requires: low <= high.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    const auto width = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(below(width));
  }

  // Returns a uniform number in [0, 1).
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  constexpr bool chance(double probability) { return uniform() < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace infold::base
