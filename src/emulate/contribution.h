// SPDX-License-Identifier: Apache-2.0
//
// What an emulated rank contributes to a transfer, chunk by chunk: zeros, or generated elements
// that every party can compute. No tensor is held in memory.
#pragma once

#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"
#include "core/worker/worker.h"

namespace infold::emulate {

// Element `index` of what this rank contributes to a transfer: a whole number of -128 to 127, so
// sums of floats are exact wherever a sum has 16 bits. Transfers count from 1.
constexpr std::int32_t generated_value(std::uint16_t rank, std::uint64_t transfer,
                                       std::uint64_t index) {
  std::uint32_t mixed = static_cast<std::uint32_t>(index) * 0x9E3779B1U +
                        (rank + 1U) * 0x85EBCA6BU +
                        static_cast<std::uint32_t>(transfer) * 0xC2B2AE35U;
  mixed = (mixed ^ (mixed >> 15)) * 0x2C1B3C6DU;
  return static_cast<std::int32_t>(mixed >> 24) - 128;
}

// Lives as long as the transfer. It is the request's context.
struct Contribution {
  core::ElementLayout layout;
  std::uint16_t rank = 0;
  std::uint64_t transfer = 0;
  const core::TensorCodec* codec = nullptr;  // of generated elements; null: zeros
};

// Encodes a Contribution and takes no result.
const core::TensorCodec& contribution_codec();

// Whether elements can be generated: a plain sum, minimum, maximum or copy of tensors.
const core::TensorCodec* codec_of_generated(const core::TransferRequest& request);

}  // namespace infold::emulate
