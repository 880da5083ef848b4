// SPDX-License-Identifier: Apache-2.0
//
// Random numbers by counter: the number of an element is a function of a key and of the element's
// index. So no state is shared, every order gives the same numbers, and a step can be made again.
// Not for secrets.
#pragma once

#include <cstdint>

#include <infold/compressor.h>

#include "base/prng.h"
#include "numeric/codes/counter_bits.h"

namespace infold::codec {

class CounterRandom {
 public:
  // Numbers that all ranks have alike.
  static constexpr CounterRandom shared(const Turn& turn, std::uint64_t use) {
    return CounterRandom(base::mix64(
        base::mix64(base::mix64(base::mix64(turn.seed + kOdd) + turn.parameter) + turn.step) +
        use));
  }
  // Numbers of this rank alone.
  static constexpr CounterRandom own(const Turn& turn, std::uint64_t use) {
    return CounterRandom(base::mix64(shared(turn, use).key_ + turn.rank + 1));
  }

  constexpr std::uint64_t key() const { return key_; }
  constexpr std::uint32_t bits(std::uint64_t index) const {
    return numeric::counter_bits(key_, index);
  }
  // Uniform in [0, 1), a multiple of 2^-24.
  constexpr float uniform(std::uint64_t index) const { return numeric::uniform_of(bits(index)); }

 private:
  static constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
  constexpr explicit CounterRandom(std::uint64_t key) : key_(key) {}

  std::uint64_t key_;
};

}  // namespace infold::codec
