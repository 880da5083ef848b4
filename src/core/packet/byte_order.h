// SPDX-License-Identifier: Apache-2.0
//
// Elements in the other byte order, for sites whose packets have big-endian ones.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace infold::core {

static_assert(std::endian::native == std::endian::little);

// `to` may be `from`.
template <std::size_t kBytes>
void reverse_each(const std::byte* from, std::uint32_t elements, std::byte* to) {
  for (std::uint32_t i = 0; i < elements; ++i, from += kBytes, to += kBytes) {
    for (std::size_t low = 0, high = kBytes - 1; low <= high; ++low, --high) {
      const std::byte first = from[low];
      to[low] = from[high];
      to[high] = first;
    }
  }
}

// Of integers of 1, 2, 4 or 8 bytes.
inline void reverse_elements(const std::byte* from, std::uint32_t elements,
                             std::uint32_t element_bytes, std::byte* to) {
  switch (element_bytes) {
    case 2: reverse_each<2>(from, elements, to); break;
    case 4: reverse_each<4>(from, elements, to); break;
    case 8: reverse_each<8>(from, elements, to); break;
    default: std::copy_n(from, elements, to); break;
  }
}

}  // namespace infold::core
