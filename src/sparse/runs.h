// SPDX-License-Identifier: Apache-2.0
//
// A range of a tensor that lies in memory in several pieces, encoded and decoded run by run: a run
// goes through the codec at once. Pieces begin with a block, or, of integers, anywhere.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::sparse {

// What a range becomes on the wire.
struct EncodedRange {
  const core::TensorCodec& codec;  // of the pieces
  core::ElementLayout layout;
  const std::uint16_t* codes;  // see TensorCodec::encode; so are the next two
  std::byte* exponents;
  std::byte* elements;
  bool specials = false;

  // `at` counts the range's elements before the run.
  void add_run(std::uint32_t at, const std::byte* tensor, core::ChunkRange run) {
    // Exponent codes of a run, and the zeros that a codec writes behind them.
    std::array<std::byte, INFOLD_BLOCKS_MAX * 2 + 4> written;
    CHECK_THAT(layout.exponent_bytes(run.elements), <=, written.size());
    const std::uint32_t block = at >> layout.block_shift();
    specials |= codec.encode(tensor, run, codes == nullptr ? nullptr : codes + block,
                             written.data(), elements + std::size_t{at} * layout.element_bytes());
    std::copy_n(written.data(), layout.block_count(run.elements) * code_bytes(),
                exponents + block * code_bytes());
  }
  // The padding behind the exponents of them all.
  void finish(std::uint32_t range_elements) {
    const std::size_t end = layout.block_count(range_elements) * code_bytes();
    std::fill(exponents + end, exponents + layout.exponent_bytes(range_elements), std::byte{0});
  }

 private:
  std::size_t code_bytes() const {
    return layout.is_block_float() ? layout.exponent_code_bytes() : 0;
  }
};

inline void decode_run(const core::TensorCodec& codec, core::ElementLayout layout,
                       const core::TensorCodec::Received& range, std::uint32_t at,
                       std::byte* tensor, core::ChunkRange run) {
  const std::size_t code_bytes = layout.is_block_float() ? layout.exponent_code_bytes() : 0;
  const std::uint32_t block = at >> layout.block_shift();
  core::TensorCodec::Received part = range;
  part.exponents += block * code_bytes;
  part.elements += std::size_t{at} * layout.element_bytes();
  if (part.codes != nullptr) part.codes += block;
  codec.decode(tensor, run, part);
}

// Calls visit(at, block, into_block, elements) for each part of a block that a range of gathered
// blocks holds; `block` counts the gathered ones.
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

}  // namespace infold::sparse
