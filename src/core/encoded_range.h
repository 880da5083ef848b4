// SPDX-License-Identifier: Apache-2.0
//
// A range whose pieces lie apart in memory and side by side on the wire.
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
  const TensorCodec& codec;  // the codec of the pieces
  const void* context;       // for the codec
  ElementLayout layout;
  const std::uint16_t* codes;  // for this and the next two, see TensorCodec::encode
  std::byte* exponents;
  std::byte* elements;
  bool specials = false;

  // Encodes one piece. `at` is the number of the range's elements before it.
  void add_run(std::uint32_t at, const std::byte* tensor, ChunkRange run) {
    // The exponent codes of a run, and the padding that a codec writes after them.
    std::array<std::byte, INFOLD_BLOCKS_MAX * 2 + 4> written;
    CHECK_THAT(layout.exponent_bytes(run.elements), <=, written.size());
    const std::uint32_t block = at >> layout.block_shift();
    specials |= codec.encode(context, tensor, run, codes == nullptr ? nullptr : codes + block,
                             written.data(), elements + std::size_t{at} * layout.element_bytes());
    std::copy_n(written.data(), layout.block_count(run.elements) * code_bytes(),
                exponents + block * code_bytes());
  }
  // Writes the padding after the exponents of all pieces.
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
