// SPDX-License-Identifier: Apache-2.0
//
// Blocks that some rank has, side by side, read out of the rows that one rank gives. A block that
// lies in one piece in the rows' memory, as all do where rows are whole blocks, is read there;
// others are put together for the moment in which they are encoded; those that the rank does not
// have are zeros.
//
// Not thread-safe but for reading; stays where it is while a transfer is in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/format.h"
#include "core/tensor_codec.h"
#include "sparse/rows.h"

namespace infold::sparse {

class RowsInput {
 public:
  // Of a tensor of `elements`. The rows' memory is borrowed, their description copied.
  void begin(const Rows& rows, const core::TensorCodec& codec, core::ElementLayout layout,
             std::uint64_t elements);
  const Rows& rows() const { return rows_; }

  // The blocks, in rising order; `is_own` for those in which the rows hold anything.
  void add(std::uint32_t block, bool is_own);

  // What the codec takes for a tensor.
  const std::byte* as_tensor() const { return reinterpret_cast<const std::byte*>(this); }
  static const core::TensorCodec& codec();

 private:
  bool encode(core::ChunkRange range, const std::uint16_t* codes, std::byte* exponents,
              std::byte* elements) const;
  static bool encode_tensor(const std::byte* tensor, core::ChunkRange range,
                            const std::uint16_t* codes, std::byte* exponents, std::byte* elements);
  void compose(std::uint64_t given, std::uint64_t first, std::uint32_t elements,
               std::byte* to) const;

  static constexpr std::uint64_t kAbsent = ~std::uint64_t{0};
  static constexpr std::uint64_t kInPieces = std::uint64_t{1} << 63;

  Rows rows_;
  const core::TensorCodec* codec_ = nullptr;
  core::ElementLayout layout_;
  std::uint64_t elements_ = 0;
  std::uint64_t next_given_ = 0;  // of the rows, the first that a later block may need
  std::vector<std::uint32_t> blocks_;
  // For each block kAbsent, or its first element in the values, or, with kInPieces, the first of
  // the given rows that holds a part of it.
  std::vector<std::uint64_t> sources_;
};

}  // namespace infold::sparse
