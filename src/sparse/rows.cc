// SPDX-License-Identifier: Apache-2.0
//
// Rows that consist of whole blocks go through the vector kernel as one tensor. Other rows are
// searched block by block.
#include "sparse/rows.h"

#include <algorithm>

#include "numeric/codec.h"

namespace infold::sparse {
namespace {

void find_presence_of_whole_blocks(const Rows& rows, std::uint64_t blocks_per_row,
                                   std::vector<std::uint32_t>& scratch, WordSet& present) {
  scratch.resize(words_for(rows.indices.size() * blocks_per_row));
  numeric::find_presence(rows.dtype, rows.values, rows.indices.size() * rows.row_elements,
                         scratch.data());
  std::uint64_t given = 0;      // the row's place among the given rows
  std::uint64_t row_first = 0;  // its first block among the given rows' blocks
  for (std::uint64_t place = 0; place < scratch.size(); ++place) {
    for_each_bit(place, scratch[place], [&](std::uint64_t block) {
      for (; block >= row_first + blocks_per_row; ++given) row_first += blocks_per_row;
      const auto row = static_cast<std::uint64_t>(rows.indices[given]);
      present.add(static_cast<std::uint32_t>(row * blocks_per_row + (block - row_first)));
    });
  }
}

template <typename Word>
void find_presence_of_others(const Rows& rows, std::uint32_t block_elements, Word magnitude,
                             WordSet& present) {
  const std::byte* values = rows.values;
  for (const std::int64_t index : rows.indices) {
    std::uint64_t at = static_cast<std::uint64_t>(index) * rows.row_elements;
    const std::uint64_t end = at + rows.row_elements;
    while (at < end) {
      const std::uint64_t block = at / block_elements;
      const std::uint64_t stop = std::min(end, (block + 1) * block_elements);
      if (holds_anything(values, stop - at, magnitude)) {
        present.add(static_cast<std::uint32_t>(block));
      }
      values += (stop - at) * sizeof(Word);
      at = stop;
    }
  }
}

}  // namespace

void find_presence(const Rows& rows, std::vector<std::uint32_t>& scratch, WordSet& present) {
  present.clear();
  const std::uint32_t block_elements = numeric::presence_block_elements(rows.dtype);
  if (rows.row_elements % block_elements == 0) {
    find_presence_of_whole_blocks(rows, rows.row_elements / block_elements, scratch, present);
  } else {
    with_magnitude(rows.dtype, [&](auto magnitude) {
      find_presence_of_others(rows, block_elements, magnitude, present);
    });
  }
}

}  // namespace infold::sparse
