// SPDX-License-Identifier: Apache-2.0
//
// The scalar codecs by kind, one lookup each (codec.h says what each kind is), and the facts about
// types that every lookup needs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::numeric {

const core::TensorCodec* scalar_block_codec(core::DataType dtype, core::WireFormat format,
                                            core::Reduction reduction);
const core::TensorCodec* scalar_plain_codec(core::DataType dtype, core::WireFormat format,
                                            core::Reduction reduction, core::Collective collective);
const core::TensorCodec* scalar_agreed_codec(core::DataType dtype, core::Reduction reduction,
                                             std::uint32_t world);

void scalar_block_codes(core::DataType dtype, const std::byte* tensor, core::ChunkRange range,
                        std::uint16_t* codes);

constexpr bool is_float(core::DataType dtype) { return dtype <= core::DataType::f64; }

// Bytes of one element in memory.
constexpr std::uint32_t dtype_bytes(core::DataType dtype) {
  switch (dtype) {
    case core::DataType::i8:
    case core::DataType::u8: return 1;
    case core::DataType::f16:
    case core::DataType::bf16: return 2;
    case core::DataType::f32:
    case core::DataType::i32: return 4;
    case core::DataType::f64:
    case core::DataType::i64: return 8;
  }
  return 0;
}

// The integer format as wide as an element in memory.
constexpr core::WireFormat integer_format(core::DataType dtype) {
  switch (dtype_bytes(dtype)) {
    case 1: return core::WireFormat::i8;
    case 2: return core::WireFormat::i16;
    case 4: return core::WireFormat::i32;
    default: return core::WireFormat::i64;
  }
}

}  // namespace infold::numeric
