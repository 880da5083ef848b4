// SPDX-License-Identifier: Apache-2.0
//
// Cuts a stretch of a tensor where its blocks end.
#pragma once

#include <algorithm>
#include <cstddef>

namespace infold::codec {

// Calls use(block, first, size) for each piece of the elements first to first + size - 1 that lies
// in one block. Requires: block_elements > 0.
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

}  // namespace infold::codec
