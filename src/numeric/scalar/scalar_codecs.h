// SPDX-License-Identifier: Apache-2.0
//
// The lookups of the scalar codecs, one for each kind (codec.h describes the kinds), and other
// scalar loops.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"
#include "numeric/adders/digits.h"

namespace infold::numeric {

const core::TensorCodec* scalar_block_codec(core::DataType dtype, core::WireFormat format,
                                            core::Reduction reduction);
const core::TensorCodec* scalar_plain_codec(core::DataType dtype, core::WireFormat format,
                                            core::Reduction reduction, core::Collective collective);
const core::TensorCodec* scalar_agreed_codec(core::DataType dtype, core::Reduction reduction,
                                             std::uint32_t world);

void scalar_block_codes(core::DataType dtype, const std::byte* tensor, core::ChunkRange range,
                        std::uint16_t* codes);
bool scalar_find_presence(core::DataType dtype, const std::byte* tensor, std::uint64_t elements,
                          std::uint32_t* words, std::byte* cleared);
// Returns the loops of digits, indexed by type.
const DigitLoops* scalar_digits();

}  // namespace infold::numeric
