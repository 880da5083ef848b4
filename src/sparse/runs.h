// SPDX-License-Identifier: Apache-2.0
//
// Helps to encode and decode a range of a tensor that lies in memory in several pieces. A run is a
// piece that goes through the codec at once. It begins at the start of a block, unless its elements
// are integers: then it may begin anywhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::sparse {

inline void decode_run(const core::TensorCodec& codec, core::ElementLayout layout,
                       const core::TensorCodec::Received& range, std::uint32_t at,
                       std::byte* tensor, core::ChunkRange run) {
  const std::size_t code_bytes = layout.is_block_float() ? layout.exponent_code_bytes() : 0;
  const std::uint32_t block = at >> layout.block_shift();
  core::TensorCodec::Received part = range;
  part.exponents += block * code_bytes;
  part.elements += std::size_t{at} * layout.element_bytes();
  if (part.codes != nullptr) part.codes += block;
  codec.decode(nullptr, tensor, run, part);
}

// Calls visit(at, block, into_block, elements) for each part of a block in a range of gathered
// blocks. `block` is the block's index among the gathered blocks.
template <typename Visit>
void for_each_piece(core::ElementLayout layout, core::ChunkRange range, Visit&& visit) {
  const std::uint32_t shift = layout.block_shift();
  const std::uint64_t end = range.first + range.elements;
  for (std::uint64_t first = range.first; first < end;) {
    const std::uint64_t block = first >> shift;
    const std::uint64_t stop = std::min((block + 1) << shift, end);
    visit(static_cast<std::uint32_t>(first - range.first), block,
          static_cast<std::uint32_t>(first - (block << shift)),
          static_cast<std::uint32_t>(stop - first));
    first = stop;
  }
}

// Calls visit(at, place, elements) for each run in a range of gathered blocks. place_of(block) says
// where in memory a block's first element lies. A range of integers may begin and end inside a
// block.
template <typename PlaceOf, typename Visit>
void for_each_run(core::ElementLayout layout, core::ChunkRange range, PlaceOf&& place_of,
                  Visit&& visit) {
  const std::uint32_t shift = layout.block_shift();
  const std::uint64_t end = range.first + range.elements;
  for (std::uint64_t first = range.first; first < end;) {
    const std::uint64_t block = first >> shift;
    std::uint64_t next = block + 1;
    while (next << shift < end && place_of(next) == place_of(next - 1) + layout.block_elements()) {
      ++next;
    }
    const std::uint64_t stop = std::min(next << shift, end);
    visit(static_cast<std::uint32_t>(first - range.first),
          place_of(block) + (first - (block << shift)), static_cast<std::uint32_t>(stop - first));
    first = stop;
  }
}

}  // namespace infold::sparse
