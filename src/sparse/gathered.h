// SPDX-License-Identifier: Apache-2.0
//
// Presents some blocks of a tensor as a tensor of their own. Elements are read and written in
// place. The blocks are the blocks of R-022, so each has the same exponent and the same bits as in
// the whole tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::sparse {

struct Gathered {
  const core::TensorCodec* codec = nullptr;  // the tensor's codec
  core::ElementLayout layout;
  std::byte* tensor = nullptr;
  // The blocks in ascending order; null if they already lie side by side. Only the last may be
  // short.
  const std::uint32_t* blocks = nullptr;
  // For prefetching: the number of blocks, and a bit for each, set if it should be fetched into the
  // cache before it is encoded. If block_count is 0, nothing is prefetched.
  std::uint64_t block_count = 0;
  const std::uint32_t* own = nullptr;
  mutable std::uint64_t asked_until = 0;

  // These follow core::TensorCodec.
  bool encode(core::ChunkRange range, const std::uint16_t* codes, std::byte* exponents,
              std::byte* elements) const;
  void decode(core::ChunkRange range, const core::TensorCodec::Received& received) const;
};

}  // namespace infold::sparse
