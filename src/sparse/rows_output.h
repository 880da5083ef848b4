// SPDX-License-Identifier: Apache-2.0
//
// A sum as rows. There is memory for every row that a block of the union touches. Blocks are
// decoded directly into their rows. All rows of a block lie side by side. After the sum, rows that
// are zeros are left out, and only that moves rows.
//
// Not thread-safe. Must not move while a transfer is in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::sparse {

class RowsOutput {
 public:
  // For a tensor of `elements`, a multiple of row_elements.
  void begin(std::uint64_t row_elements, const core::TensorCodec& codec, core::ElementLayout layout,
             std::uint64_t elements);
  // Call it for each block of the union, in ascending order.
  void add(std::uint32_t block);

  // After all blocks are known: bytes of memory for the rows, before rows of zeros are left out.
  std::size_t value_bytes() const;
  // Clears the parts that no block covers.
  void set_memory(std::byte* values);

  // After the sum: the number of rows that are not zeros.
  std::uint64_t find_rows();
  // Moves their values to the beginning of the memory, and writes their indices.
  void take(std::int64_t* indices);

  // As core::TensorCodec does.
  void decode(core::ChunkRange range, const core::TensorCodec::Received& received) const;

 private:
  // Rows that follow each other in the tensor and in memory.
  struct Stretch {
    std::uint64_t first_row = 0;
    std::uint64_t place = 0;  // of the first row among those in memory
  };

  std::size_t row_bytes() const;
  void keep_row(std::uint64_t row);
  void keep_rows_of_whole_blocks(std::uint64_t blocks_per_row);

  const core::TensorCodec* codec_ = nullptr;
  core::ElementLayout layout_;
  std::uint64_t row_elements_ = 1;
  std::uint64_t elements_ = 0;
  std::byte* values_ = nullptr;
  std::uint64_t rows_ = 0;      // in memory
  std::uint64_t next_row_ = 0;  // after the last of them
  std::vector<Stretch> stretches_;
  std::vector<std::uint64_t> places_;   // in memory, of each block's first element
  std::vector<std::uint32_t> kept_;     // a bit for each row in memory
  std::vector<std::uint32_t> present_;  // a bit for each of their blocks, if rows are whole blocks
};

}  // namespace infold::sparse
