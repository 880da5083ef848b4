// SPDX-License-Identifier: Apache-2.0
//
// A sum as rows: memory for every row that a block of the union touches, into which blocks are
// decoded where they belong, so that nothing is copied but what has to close gaps. All rows of a
// block lie there side by side, and so does the block. When the sum is done, rows that are zeros
// are left out.
//
// Not thread-safe; stays where it is while a transfer is in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/format.h"
#include "core/tensor_codec.h"

namespace infold::sparse {

class RowsOutput {
 public:
  // Of a tensor of `elements`, a multiple of the row's.
  void begin(std::uint64_t row_elements, const core::TensorCodec& codec, core::ElementLayout layout,
             std::uint64_t elements);
  // The blocks that some rank has, in rising order.
  void add(std::uint32_t block);

  // All blocks are known: how much memory the rows take until it is known which are zeros.
  std::size_t value_bytes() const;
  // Clears what no block covers.
  void set_memory(std::byte* values);

  // The sum is done: how many rows hold anything but zeros.
  std::uint64_t find_rows();
  // Brings their values to the memory's beginning, and says which they are.
  void take(std::int64_t* indices);

  // What the codec takes for a tensor, to be written only.
  std::byte* as_tensor() { return reinterpret_cast<std::byte*>(this); }
  static const core::TensorCodec& codec();

 private:
  // Rows that follow each other both in the tensor and in memory.
  struct Stretch {
    std::uint64_t first_row = 0;
    std::uint64_t place = 0;  // of the first among the rows in memory
  };

  static void decode_tensor(std::byte* tensor, core::ChunkRange range,
                            const core::TensorCodec::Received& received);
  void decode(core::ChunkRange range, const core::TensorCodec::Received& received);
  std::size_t row_bytes() const;
  void keep_row(std::uint64_t row);
  void keep_rows_of_whole_blocks(std::uint64_t blocks_per_row);

  const core::TensorCodec* codec_ = nullptr;
  core::ElementLayout layout_;
  std::uint64_t row_elements_ = 1;
  std::uint64_t elements_ = 0;
  std::byte* values_ = nullptr;
  std::uint64_t rows_ = 0;      // that have memory
  std::uint64_t next_row_ = 0;  // behind the last of them
  std::vector<Stretch> stretches_;
  std::vector<std::uint64_t> places_;  // in memory, of each block's first element
  std::vector<std::uint32_t> kept_;    // a bit for each row in memory
  std::vector<std::uint32_t>
      present_;  // and for each of its blocks, where it is made of whole ones
};

}  // namespace infold::sparse
