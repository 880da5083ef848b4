// SPDX-License-Identifier: Apache-2.0
//
// A range that lies in memory in several pieces, put side by side on the wire.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::core {

struct EncodedRange {
  const TensorCodec& codec;  // of the pieces
  const void* context;       // the codec's
  ElementLayout layout;
  const std::uint16_t* codes;  // see TensorCodec::encode; so are the next two
  std::byte* exponents;
  std::byte* elements;
  bool specials = false;

  // `at` counts the range's elements before the run.
  void add_run(std::uint32_t at, const std::byte* tensor, ChunkRange run) {
    // Exponent codes of a run, and the zeros that a codec writes behind them.
    std::array<std::byte, INFOLD_BLOCKS_MAX * 2 + 4> written;
    CHECK_THAT(layout.exponent_bytes(run.elements), <=, written.size());
    const std::uint32_t block = at >> layout.block_shift();
    specials |= codec.encode(context, tensor, run, codes == nullptr ? nullptr : codes + block,
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

}  // namespace infold::core
