// SPDX-License-Identifier: Apache-2.0
//
// Functions that all kernels use to search for nonzero blocks: the bits that make an element
// nonzero, and the blocks at a tensor's end.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/format.h"

namespace infold::numeric {

// Returns a mask for eight bytes of elements. An element that has a bit of the mask is not zero;
// the other bits are the signs of zeros.
constexpr std::uint64_t magnitude_bits(core::DataType dtype) {
  switch (dtype) {
    case core::DataType::f32: return 0x7FFFFFFF7FFFFFFF;
    case core::DataType::f16:
    case core::DataType::bf16: return 0x7FFF7FFF7FFF7FFF;
    case core::DataType::f64: return 0x7FFFFFFFFFFFFFFF;
    default: return ~std::uint64_t{0};
  }
}

// Returns the block length of R-022, which integers use as well.
constexpr std::uint32_t presence_block_elements(core::DataType dtype) {
  return core::ElementLayout{core::WireFormat::i32, dtype}.block_elements();
}

// Returns the bitwise or of a stretch of a tensor.
inline std::uint64_t bits_among(const std::byte* at, std::size_t bytes) {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < bytes; i += sizeof(all)) {
    std::uint64_t piece = 0;
    std::memcpy(&piece, at + i, std::min(sizeof(piece), bytes - i));
    all |= piece;
  }
  return all;
}

// Examines the blocks from `first` on, one by one, and sets the bits of nonzero blocks. The bits of
// other blocks stay as they are. Returns true if a block of zeros holds a negative zero.
inline bool find_presence_from(std::uint64_t first, core::DataType dtype, const std::byte* tensor,
                               std::uint64_t elements, std::uint32_t* words) {
  const std::uint64_t block_bytes = presence_block_elements(dtype) * element_bytes(dtype);
  const std::uint64_t bytes = elements * element_bytes(dtype);
  std::uint64_t signs = 0;
  for (std::uint64_t block = first; block * block_bytes < bytes; ++block) {
    const std::uint64_t at = block * block_bytes;
    const std::uint64_t all = bits_among(tensor + at, std::min(block_bytes, bytes - at));
    const bool is_present = (all & magnitude_bits(dtype)) != 0;
    words[block / 32] |= std::uint32_t{is_present} << block % 32;
    if (!is_present) signs |= all;
  }
  return signs != 0;
}

}  // namespace infold::numeric
