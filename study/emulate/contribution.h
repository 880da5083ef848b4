// SPDX-License-Identifier: Apache-2.0
//
// What an emulated rank contributes to a transfer, chunk by chunk: zeros, or generated elements
// that every party can compute. No tensor is held in memory.
#pragma once

#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"
#include "join/transfer_note.h"
#include "study/oracle/whole_values.h"

namespace infold::emulate {

// Returns element `index` of what this rank contributes to any transfer. `infold bench allreduce`
// contributes the same elements. For types of less than four bytes, the value is reduced modulo
// 128.
constexpr std::int32_t generated_value(core::DataType type, std::uint16_t rank,
                                       std::uint64_t index) {
  const std::int32_t value = oracle::whole_value_at(index, rank);
  const bool is_wide = element_bytes(type) >= 4;
  return is_wide ? value : value % 128;
}

// Serves as the context of a request, and lives as long as the transfer.
struct Contribution {
  core::ElementLayout layout;
  std::uint16_t rank = 0;
  const core::TensorCodec* codec = nullptr;  // for generated elements; null: zeros
};

// Returns a codec that encodes a Contribution and ignores results.
const core::TensorCodec& contribution_codec();

// Returns the codec for generated elements if the transfer is a plain sum, minimum, maximum or copy
// of tensors. Null for other transfers.
const core::TensorCodec* codec_of_generated(const join::TransferNote& note);

}  // namespace infold::emulate
