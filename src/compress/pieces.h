// SPDX-License-Identifier: Apache-2.0
//
// Cuts a stretch of a tensor at the ends of blocks.
#pragma once

#include <algorithm>
#include <cstddef>

namespace infold::compress {

// Cuts the elements first to first + size - 1 into pieces that lie in one block each, and calls
// use(block, first, size) for each piece. Requires: block_elements > 0.
template <typename Use>
void for_each_piece(std::size_t first, std::size_t size, std::size_t block_elements, Use use) {
  const std::size_t end = first + size;
  while (first < end) {
    const std::size_t block = first / block_elements;
    const std::size_t piece = std::min(end, (block + 1) * block_elements) - first;
    use(block, first, piece);
    first += piece;
  }
}

}  // namespace infold::compress
