// SPDX-License-Identifier: Apache-2.0
//
// How ranks agree on exponents before a fixed32 transfer: a transfer of its own, by maximum, of
// two 16-bit integers per block, the block's code and whether it holds a NaN or infinity. In
// memory both are one code as numeric::block_codes writes it. Stateless.
#pragma once

#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::codec {

inline constexpr std::uint64_t kAgreementElementsPerBlock = 2;

// Of a tensor of codes; `input` and `output` must not be the same memory.
const core::TensorCodec& agreement_codec();

constexpr core::ElementLayout agreement_layout(core::DataType dtype) {
  return {core::WireFormat::i16, dtype};
}

}  // namespace infold::codec
