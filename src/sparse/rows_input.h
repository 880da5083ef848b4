// SPDX-License-Identifier: Apache-2.0
//
// The blocks of the union, side by side, read from the rows of one rank. If a block lies in one
// piece in the rows' memory, it is read there. All blocks do if rows are whole blocks. Other blocks
// are put together when they are encoded. Blocks that the rank does not have are zeros.
//
// Not thread-safe but for reading. Must not move while a transfer is in flight.
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
  // For a tensor of `elements`. Borrows the rows' memory and copies their description.
  void begin(const Rows& rows, const core::TensorCodec& codec, core::ElementLayout layout,
             std::uint64_t elements);
  const Rows& rows() const { return rows_; }

  // Call it for each block in ascending order. `is_own`: the rows have a nonzero element in it.
  void add(std::uint32_t block, bool is_own);

  // As core::TensorCodec does.
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
  // For each block: kAbsent, or the place of its first element in the values, or, with kInPieces,
  // the first given row that has a part of it.
  std::vector<std::uint64_t> sources_;
};

}  // namespace infold::sparse
