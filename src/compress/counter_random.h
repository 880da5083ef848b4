// SPDX-License-Identifier: Apache-2.0
//
// Counter-based random numbers: the number of an element is a function of a key and the element's
// index. No state is shared, every order gives the same numbers, and a step can be repeated. The
// numbers are not fit for secrets.
#pragma once

#include <cstdint>

#include <infold/compressor.h>

#include "base/prng.h"
#include "numeric/codes/counter_bits.h"

namespace infold::compress {

class CounterRandom {
 public:
  // Numbers that are the same on all ranks.
  static constexpr CounterRandom shared(const Turn& turn, std::uint64_t use) {
    return CounterRandom(base::mix64(
        base::mix64(base::mix64(base::mix64(turn.seed + kOdd) + turn.parameter) + turn.step) +
        use));
  }
  // Numbers that differ from rank to rank.
  static constexpr CounterRandom own(const Turn& turn, std::uint64_t use) {
    return CounterRandom(base::mix64(shared(turn, use).key_ + turn.rank + 1));
  }

  constexpr std::uint64_t key() const { return key_; }
  constexpr std::uint32_t bits(std::uint64_t index) const {
    return numeric::counter_bits(key_, index);
  }
  // Uniform in [0, 1), in multiples of 2^-24.
  constexpr float uniform(std::uint64_t index) const { return numeric::uniform_of(bits(index)); }

 private:
  static constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  constexpr explicit CounterRandom(std::uint64_t key) : key_(key) {}

  std::uint64_t key_;
};

}  // namespace infold::compress
