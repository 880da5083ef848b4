// SPDX-License-Identifier: Apache-2.0
//
// Some blocks of a tensor, as a tensor of their own. Elements are read and written in place. The
// blocks are those of R-022, so each has the exponent and the bits that it has in the whole tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::sparse {

struct Gathered {
  const core::TensorCodec* codec = nullptr;  // of the tensor
  core::ElementLayout layout;
  std::byte* tensor = nullptr;
  // The blocks, sorted; null if they lie side by side already. Only the last may be short.
  const std::uint32_t* blocks = nullptr;
  // A bit for each block that will be encoded, and the number of blocks. These are fetched into the
  // cache ahead of their turn. 0: no block is.
  std::uint64_t block_count = 0;
  const std::uint32_t* own = nullptr;
  mutable std::uint64_t asked_until = 0;

  // As core::TensorCodec does.
  bool encode(core::ChunkRange range, const std::uint16_t* codes, std::byte* exponents,
              std::byte* elements) const;
  void decode(core::ChunkRange range, const core::TensorCodec::Received& received) const;
};

}  // namespace infold::sparse
