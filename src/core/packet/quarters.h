// SPDX-License-Identifier: Apache-2.0
//
// Finds the quarters of a chunk's blocks that are not zeros, and writes and reads chunks in bodies
// that leave out the others. Blocks lie side by side, as R-023 says.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/packet/block_set.h"

namespace infold::core {

// Some or all of a chunk's blocks, side by side.
struct BlocksInMemory {
  const BlockSet& blocks;
  const std::byte* exponents;
  const std::byte* elements;
};

class Quarters {
 public:
  // Looks for zeros among the encoded elements, not among the numbers that were encoded.
  Quarters(ElementLayout layout, std::uint32_t chunk_elements, const BlocksInMemory& source);

  // Takes a quick look at a dense chunk's elements. Returns true if no quarter can be left out;
  // false does not say much.
  static bool keep_all(ElementLayout layout, std::span<const std::byte> elements);

  // Returns how many bytes write() writes.
  std::size_t bytes() const;
  // Writes the chunk's part of a body. Requires: `source` is unchanged since the constructor and
  // does not overlap `to`.
  void write(const BlocksInMemory& source, std::byte* to) const;

 private:
  void take_all(const BlockSet& blocks, std::uint32_t elements);
  template <std::uint32_t kBytes>
  void look_closely(const BlocksInMemory& source);

  ElementLayout layout_;
  std::uint32_t chunk_elements_;
  BlockSet kept_;  // blocks that are not all zeros
  std::uint32_t kept_count_ = 0;
  std::uint32_t kept_elements_ = 0;
  // Four bits for each block that was examined, in their order.
  std::array<std::uint8_t, INFOLD_BLOCKS_MAX> bits_;
};

// A view of a chunk's part of a body. It copies the bits that say where elements are, because
// whoever wrote the body into shared memory may change them later.
class QuartersView {
 public:
  // Returns nothing if the bytes end too early or are inconsistent.
  static std::optional<QuartersView> parse(ElementLayout layout, std::uint32_t chunk_elements,
                                           std::span<const std::byte> bytes);

  const BlockSet& blocks() const { return blocks_; }
  // Returns one code for each of blocks().
  const std::byte* exponents() const { return exponents_; }
  std::size_t bytes() const { return bytes_; }
  // Writes the elements of blocks(), with zeros where quarters were left out.
  void spread_blocks(std::byte* elements) const;
  // Writes the whole chunk in the layout of R-023.
  void spread_chunk(std::byte* exponents, std::byte* elements) const;

 private:
  ElementLayout layout_;
  std::uint32_t chunk_elements_ = 0;
  BlockSet blocks_;
  std::array<std::byte, (INFOLD_BLOCKS_MAX + 1) / 2> bits_{};  // four bits for each of blocks()
  const std::byte* exponents_ = nullptr;
  const std::byte* elements_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace infold::core
