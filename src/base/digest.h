// SPDX-License-Identifier: Apache-2.0
//
// An incremental 64-bit hash of state, for comparing runs and for state-space search. The same
// inputs in the same order give the same value on every machine. Do not use it for secrets, or for
// tables that another rank can fill.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/prng.h"

namespace infold::base {

class Digest {
 public:
  void add(std::uint64_t value) { state_ = mix64(state_ + 0x9E3779B97F4A7C15ULL + value); }

  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    while (!bytes.empty()) {
      const std::size_t taken =
          bytes.size() < sizeof(std::uint64_t) ? bytes.size() : sizeof(std::uint64_t);
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), taken);
      add(word);
      bytes = bytes.subspan(taken);
    }
  }

  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace infold::base
