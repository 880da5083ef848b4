// SPDX-License-Identifier: Apache-2.0
//
// Which quarters of a chunk's blocks hold something other than zeros, and a chunk as it lies in a
// body that leaves out the others. Blocks come side by side, as R-023 has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/packet/block_set.h"

namespace infold::core {

// A chunk's blocks side by side: some of them, or all.
struct BlocksInMemory {
  const BlockSet& blocks;
  const std::byte* exponents;
  const std::byte* elements;
};

class Quarters {
 public:
  // Of codes, not of the numbers that became them.
  Quarters(ElementLayout layout, std::uint32_t chunk_elements, const BlocksInMemory& source);

  // A glance at a dense chunk's elements: none of their quarters can be left out. No says little.
  static bool keep_all(ElementLayout layout, std::span<const std::byte> elements);

  // What write() takes.
  std::size_t bytes() const;
  // The chunk's part of a body. Requires: `source` as it was looked at; it lies elsewhere than
  // `to`.
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
  // Four bits for each of the blocks that were looked at, in their order.
  std::array<std::uint8_t, INFOLD_BLOCKS_MAX> bits_;
};

// A chunk's part of a body, in place. What says where its elements are is copied, since whoever
// wrote the body into shared memory may change it later.
class QuartersView {
 public:
  // Nothing if the bytes end too early or say what cannot be.
  static std::optional<QuartersView> parse(ElementLayout layout, std::uint32_t chunk_elements,
                                           std::span<const std::byte> bytes);

  const BlockSet& blocks() const { return blocks_; }
  // One code for each of the blocks.
  const std::byte* exponents() const { return exponents_; }
  std::size_t bytes() const { return bytes_; }
  // The elements of blocks(), with zeros where quarters were left out.
  void spread_blocks(std::byte* elements) const;
  // The whole chunk as R-023 has it.
  void spread_chunk(std::byte* exponents, std::byte* elements) const;

 private:
  ElementLayout layout_;
  std::uint32_t chunk_elements_ = 0;
  BlockSet blocks_;
  std::array<std::byte, (INFOLD_BLOCKS_MAX + 1) / 2> bits_{};  // of as many as there are blocks
  const std::byte* exponents_ = nullptr;
  const std::byte* elements_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace infold::core
