// SPDX-License-Identifier: Apache-2.0
//
// The set of a chunk's blocks that a contribution has; all other blocks are zeros. It is a
// value type with room for the blocks of the largest chunk.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/format.h"

namespace infold::core {

class BlockSet {
 public:
  static constexpr std::uint32_t kWordBits = 32;
  static constexpr std::size_t word_count(std::uint32_t blocks) {
    return (blocks + kWordBits - 1) / kWordBits;
  }
  static constexpr std::size_t wire_bytes(std::uint32_t blocks) {
    return word_count(blocks) * sizeof(std::uint32_t);
  }

  // Returns bits [first, first + blocks) of a longer set. Reads no word that has none of these
  // bits.
  static BlockSet slice(const std::uint32_t* words, std::uint64_t first, std::uint32_t blocks);
  static BlockSet read(const std::byte* wire, std::uint32_t blocks);
  static BlockSet all(std::uint32_t blocks);
  void write(std::byte* wire, std::uint32_t blocks) const;

  void insert(std::uint32_t block) { words_[block / kWordBits] |= 1U << (block % kWordBits); }
  BlockSet& operator|=(const BlockSet& other) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
    return *this;
  }

  bool has(std::uint32_t block) const {
    return (words_[block / kWordBits] >> (block % kWordBits) & 1) != 0;
  }
  // Returns whether the set has a block beyond the first `blocks`.
  bool reaches_beyond(std::uint32_t blocks) const;
  std::uint32_t count() const;
  // Returns how many elements these blocks have in a chunk of `chunk_elements`.
  std::uint32_t element_count(ElementLayout layout, std::uint32_t chunk_elements) const;
  // Returns the bytes of a body that has these blocks side by side.
  std::uint32_t payload_bytes(ElementLayout layout, std::uint32_t chunk_elements) const {
    const std::uint32_t elements = element_count(layout, chunk_elements);
    return exponent_bytes(layout) + elements * layout.element_bytes();
  }
  std::uint32_t exponent_bytes(ElementLayout layout) const {
    return layout.exponent_bytes(count() * layout.block_elements());
  }

  // Calls visit(first, blocks) for each run of adjacent blocks, in rising order.
  template <typename Visit>
  void for_each_run(Visit&& visit) const {
    std::uint32_t first = next(0, true);
    while (first < kBlocksMax) {
      const std::uint32_t end = next(first, false);
      visit(first, end - first);
      first = next(end, true);
    }
  }

 private:
  static constexpr std::uint32_t kBlocksMax = INFOLD_BLOCKS_MAX;

  // Returns the first block at or after `block` that is in the set, or, if `present` is false, that
  // is not in the set. Returns kBlocksMax if there is none.
  std::uint32_t next(std::uint32_t block, bool present) const;

  std::array<std::uint32_t, kBlocksMax / kWordBits> words_{};
};

}  // namespace infold::core
