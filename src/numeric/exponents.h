// SPDX-License-Identifier: Apache-2.0
//
// Exponent codes, which lie before the mantissas of a chunk. A block has one byte, or two
// big-endian bytes for tensors of f64. Zeros pad the codes to a multiple of four bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/format.h"

namespace infold::numeric {

template <bool kWide>
void write_code(std::byte* exponents, std::uint32_t block, std::uint32_t code) {
  if constexpr (kWide) {
    exponents[2 * block] = static_cast<std::byte>(code >> 8);
    exponents[2 * block + 1] = static_cast<std::byte>(code);
  } else {
    exponents[block] = static_cast<std::byte>(code);
  }
}

template <bool kWide>
std::uint32_t read_code(const std::byte* exponents, std::uint32_t block) {
  if constexpr (kWide) {
    return std::to_integer<std::uint32_t>(exponents[2 * block]) << 8 |
           std::to_integer<std::uint32_t>(exponents[2 * block + 1]);
  } else {
    return std::to_integer<std::uint32_t>(exponents[block]);
  }
}

inline void write_padding(std::byte* exponents, core::ElementLayout layout,
                          std::uint32_t elements) {
  const std::uint32_t used = layout.block_count(elements) * layout.exponent_code_bytes();
  std::memset(exponents + used, 0, layout.exponent_bytes(elements) - used);
}

// Does what write_padding() does, for callers that write the codes afterwards. It clears the whole
// last word, which takes no function call.
inline void clear_padding(std::byte* exponents, core::ElementLayout layout,
                          std::uint32_t elements) {
  std::memset(exponents + layout.exponent_bytes(elements) - 4, 0, 4);
}

}  // namespace infold::numeric
