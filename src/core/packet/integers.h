// SPDX-License-Identifier: Apache-2.0
//
// Converts integers to the form that a site needs: big-endian, or wider.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

// Reverses the bytes of integers of 1, 2, 4 or 8 bytes.
inline void reverse_elements(const std::byte* from, std::uint32_t elements,
                             std::uint32_t element_bytes, std::byte* to) {
  switch (element_bytes) {
    case 2: reverse_each<2>(from, elements, to); break;
    case 4: reverse_each<4>(from, elements, to); break;
    case 8: reverse_each<8>(from, elements, to); break;
    default: std::copy_n(from, elements, to); break;
  }
}

// `to` may be `from`.
template <typename Narrow>
void narrow_each(const std::byte* from, std::uint32_t elements, std::byte* to) {
  for (std::uint32_t i = 0; i < elements; ++i, from += sizeof(std::int32_t), to += sizeof(Narrow)) {
    std::int32_t wide = 0;
    std::memcpy(&wide, from, sizeof(wide));
    const auto narrow = static_cast<Narrow>(wide);
    std::memcpy(to, &narrow, sizeof(narrow));
  }
}

// Works in place, so the last element moves first.
template <typename Narrow>
void widen_each(std::uint32_t elements, std::byte* data) {
  for (std::uint32_t i = elements; i-- > 0;) {
    Narrow narrow = 0;
    std::memcpy(&narrow, data + i * sizeof(narrow), sizeof(narrow));
    const std::int32_t wide = narrow;
    std::memcpy(data + i * sizeof(wide), &wide, sizeof(wide));
  }
}

// Convert signed integers of 1 or 2 bytes to 4 bytes and back.
inline void widen_elements(std::uint32_t narrow_bytes, std::uint32_t elements, std::byte* data) {
  narrow_bytes == 1 ? widen_each<std::int8_t>(elements, data)
                    : widen_each<std::int16_t>(elements, data);
}
inline void narrow_elements(const std::byte* from, std::uint32_t elements,
                            std::uint32_t narrow_bytes, std::byte* to) {
  narrow_bytes == 1 ? narrow_each<std::int8_t>(from, elements, to)
                    : narrow_each<std::int16_t>(from, elements, to);
}

}  // namespace infold::core
