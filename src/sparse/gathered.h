// SPDX-License-Identifier: Apache-2.0
//
// Some blocks of a tensor, side by side, as a tensor of their own: elements are read and written
// where they lie. Blocks are those of R-022, so that each has the exponent, and thus the bits, that
// it has in the whole.
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
  // Which, in rising order; null if they lie side by side already. Only the last may be short.
  const std::uint32_t* blocks = nullptr;
  // Which of them will be encoded, a bit each, and how many there are: asked for ahead of their
  // turn. 0: none are.
  std::uint64_t block_count = 0;
  const std::uint32_t* own = nullptr;
  mutable std::uint64_t asked_until = 0;

  // What gathered_codec() takes for a tensor.
  std::byte* as_tensor() { return reinterpret_cast<std::byte*>(this); }
};

const core::TensorCodec& gathered_codec();

}  // namespace infold::sparse
