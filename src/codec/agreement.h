// SPDX-License-Identifier: Apache-2.0
//
// How ranks agree on exponents before a fixed32 transfer: by a transfer of its own, which keeps the
// maximum of two 16-bit integers for each block, the block's code and whether the block holds a NaN
// or an infinity. A rank's own codes are found chunk by chunk, when a chunk is sent. A
// block of the tensor is not overwritten before ranks have agreed on it, so that a repeat finds the
// same codes in a tensor that is summed in place.
//
// Not thread-safe; stays where it is while transfers are in flight, and keeps its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/tensor_codec.h"
#include "core/worker/worker.h"

namespace infold::codec {

class Agreement {
 public:
  // The transfer that goes before `data`, a transfer of at least one element. `data` has its
  // tensor, and gets codes().
  core::TransferRequest begin(const core::TransferRequest& data);
  // One for each block, as numeric::block_codes() writes it.
  const std::uint16_t* codes() const { return codes_.data(); }

 private:
  static bool encode(const void* context, const std::byte*, core::ChunkRange range,
                     const std::uint16_t*, std::byte*, std::byte* elements);
  static void decode(void* context, std::byte*, core::ChunkRange range,
                     const core::TensorCodec::Received& received);

  core::ElementLayout layout_;  // of the data
  const std::byte* tensor_ = nullptr;
  std::uint64_t elements_ = 0;
  std::vector<std::uint16_t> codes_;
};

}  // namespace infold::codec
