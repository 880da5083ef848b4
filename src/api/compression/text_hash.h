// SPDX-License-Identifier: Apache-2.0
//
// A hash of a text that is the same on every machine and in every run. Not for secrets.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/prng.h"

namespace infold {

inline std::uint64_t hash_of_text(std::string_view text) {
  std::uint64_t hash = base::mix64(text.size() + 1);
  for (const char c : text) {
    hash = base::mix64((hash ^ static_cast<unsigned char>(c)) + 0x9E3779B97F4A7C15ULL);
  }
  return hash;
}

}  // namespace infold
