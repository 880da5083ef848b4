// SPDX-License-Identifier: Apache-2.0
//
// Lets ranks agree on exponents before a fixed32 transfer. A transfer of its own takes the maximum
// of two 16-bit integers for each block: the block's code, and whether the block holds a NaN or an
// infinity. A rank finds its own codes chunk by chunk, whenever it sends a chunk. A tensor
// that is summed in place keeps each block until the ranks have agreed on it, so a retransmission
// finds the same codes.
//
// An Agreement is not thread-safe and must not move while transfers are in flight. It keeps its
// memory for the next use.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor_codec.h"
#include "core/worker/worker.h"

namespace infold::encoding {

class Agreement {
 public:
  // Returns the transfer that must run before `data`, which then uses codes(). Requires: `data` has
  // its tensor and at least one element.
  core::TransferRequest begin(const core::TransferRequest& data);
  // The agreed code of each block, as numeric::block_codes() writes it.
  const std::uint16_t* codes() const { return codes_.data(); }

 private:
  static bool encode(const void* context, const std::byte*, core::ChunkRange range,
                     const std::uint16_t*, std::byte*, std::byte* elements);
  static void decode(void* context, std::byte*, core::ChunkRange range,
                     const core::TensorCodec::Received& received);

  core::ElementLayout layout_;  // the data's layout
  const std::byte* tensor_ = nullptr;
  std::uint64_t elements_ = 0;
  std::vector<std::uint16_t> codes_;
};

}  // namespace infold::encoding
