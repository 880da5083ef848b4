// SPDX-License-Identifier: Apache-2.0
//
// What an emulated rank contributes to a transfer, chunk by chunk: zeros, or generated elements
// that every party can compute. No tensor is held in memory.
#pragma once

#include <cstdint>

#include "control/transfer_note.h"
#include "core/format.h"
#include "core/tensor_codec.h"
#include "oracle/whole_values.h"

namespace infold::emulate {

// Element `index` of what this rank contributes to any transfer, as `infold bench allreduce`
// contributes it. Types of fewer than 16 bits of precision get the remainder of a division by 128.
constexpr std::int32_t generated_value(core::DataType type, std::uint16_t rank,
                                       std::uint64_t index) {
  const std::int32_t value = oracle::whole_value_at(index, rank);
  const bool is_wide = element_bytes(type) >= 4;
  return is_wide ? value : value % 128;
}

// Lives as long as the transfer. It is the request's context.
struct Contribution {
  core::ElementLayout layout;
  std::uint16_t rank = 0;
  const core::TensorCodec* codec = nullptr;  // of generated elements; null: zeros
};

// Encodes a Contribution and takes no result.
const core::TensorCodec& contribution_codec();

// Of generated elements, which a plain sum, minimum, maximum or copy of tensors has. Null: others.
const core::TensorCodec* codec_of_generated(const control::TransferNote& note);

}  // namespace infold::emulate
