// SPDX-License-Identifier: Apache-2.0
//
// The scalar codecs by kind, one lookup each. Vector versions of the same lookups replace single
// entries and take the rest from here. All return null for what does not exist.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::numeric {

// Block floats: sum and average of the four float types.
const core::TensorCodec* scalar_block_codec(core::DataType dtype, core::WireFormat format,
                                            core::Reduction reduction);

// Elements that stay integers: sums and averages of integer types, least and greatest of all
// types, and copies.
const core::TensorCodec* scalar_plain_codec(core::DataType dtype, core::WireFormat format,
                                            core::Reduction reduction,
                                            core::Collective collective);

// Floats with agreed exponents.
const core::TensorCodec* scalar_agreed_codec(core::DataType dtype, core::Reduction reduction,
                                             std::uint32_t world);

constexpr bool is_float(core::DataType dtype) { return dtype <= core::DataType::f64; }
constexpr bool is_additive(core::Reduction reduction) {
  return reduction == core::Reduction::sum || reduction == core::Reduction::average;
}

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
