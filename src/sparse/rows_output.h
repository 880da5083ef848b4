// SPDX-License-Identifier: Apache-2.0
//
// Receives a sum as rows. There is memory for every row that a block of the union touches, and all
// rows of a block lie side by side, so blocks are decoded directly into their rows. Rows move only
// after the sum, when rows of zeros are left out.
//
// A RowsOutput is not thread-safe and must not move while a transfer is in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::sparse {

class RowsOutput {
 public:
  // Begins a tensor of `elements` elements, a multiple of row_elements.
  void begin(std::uint64_t row_elements, const core::TensorCodec& codec, core::ElementLayout layout,
             std::uint64_t elements);
  // Call it for each block of the union, in ascending order.
  void add(std::uint32_t block);

  // After all blocks were added: how many bytes the rows need before rows of zeros are left out.
  std::size_t value_bytes() const;
  // Sets that memory, and clears the parts that no block covers.
  void set_memory(std::byte* values);

  // After the sum: finds the rows that are not all zeros, and returns their number.
  std::uint64_t find_rows();
  // Moves the values of these rows to the beginning of the memory, and writes their indices.
  void take(std::int64_t* indices);

  // Follows core::TensorCodec.
  void decode(core::ChunkRange range, const core::TensorCodec::Received& received) const;

 private:
  // A stretch of rows that follow each other both in the tensor and in memory.
  struct Stretch {
    std::uint64_t first_row = 0;
    std::uint64_t place = 0;  // where its first row lies among the rows in memory
  };

  std::size_t row_bytes() const;
  void keep_row(std::uint64_t row);
  void keep_rows_of_whole_blocks(std::uint64_t blocks_per_row);

  const core::TensorCodec* codec_ = nullptr;
  core::ElementLayout layout_;
  std::uint64_t row_elements_ = 1;
  std::uint64_t elements_ = 0;
  std::byte* values_ = nullptr;
  std::uint64_t rows_ = 0;      // how many rows are in memory
  std::uint64_t next_row_ = 0;  // the row after the last one in memory
  std::vector<Stretch> stretches_;
  std::vector<std::uint64_t> places_;   // where each block's first element lies in memory
  std::vector<std::uint32_t> kept_;     // a bit for each row in memory
  std::vector<std::uint32_t> present_;  // a bit for each block in memory, if rows are whole blocks
};

}  // namespace infold::sparse
