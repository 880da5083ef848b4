// SPDX-License-Identifier: Apache-2.0
//
// Presents the blocks of the union side by side, and reads them from the rows of one rank. A block
// that lies in one piece in the rows' memory is read there, which holds for all blocks if rows
// consist of whole blocks. Other blocks are composed when they are encoded. Blocks that the rank
// does not have are zeros.
//
// Several threads may call const functions at once, and nothing else. A RowsInput must not move
// while a transfer is in flight.
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
  // Begins a tensor of `elements` elements. Borrows the memory of `rows` and copies their
  // description.
  void begin(const Rows& rows, const core::TensorCodec& codec, core::ElementLayout layout,
             std::uint64_t elements);
  const Rows& rows() const { return rows_; }

  // Call it for each block of the union, in ascending order. `is_own` says whether the rows have a
  // nonzero element in the block.
  void add(std::uint32_t block, bool is_own);

  // Follows core::TensorCodec.
  bool encode(core::ChunkRange range, const std::uint16_t* codes, std::byte* exponents,
              std::byte* elements) const;

 private:
  void compose(std::uint64_t given, std::uint64_t first, std::uint32_t elements,
               std::byte* to) const;

  static constexpr std::uint64_t kAbsent = ~std::uint64_t{0};
  static constexpr std::uint64_t kInPieces = std::uint64_t{1} << 63;

  Rows rows_;
  const core::TensorCodec* codec_ = nullptr;
  core::ElementLayout layout_;
  std::uint64_t elements_ = 0;
  std::uint64_t next_given_ = 0;  // the first row that a later block may need
  std::vector<std::uint32_t> blocks_;
  // For each block: kAbsent, or the place of its first element in the values. With kInPieces, it is
  // the first given row that has a part of the block.
  std::vector<std::uint64_t> sources_;
};

}  // namespace infold::sparse
