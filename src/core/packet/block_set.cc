// SPDX-License-Identifier: Apache-2.0
#include "core/packet/block_set.h"

#include <algorithm>
#include <cstring>

namespace infold::core {

BlockSet BlockSet::slice(const std::uint32_t* words, std::uint64_t first, std::uint32_t blocks) {
  BlockSet set;
  const std::uint32_t* from = words + first / kWordBits;
  const auto shift = static_cast<std::uint32_t>(first % kWordBits);
  for (std::uint32_t left = blocks, word = 0; left > 0; ++word, ++from) {
    const std::uint32_t taken = std::min(left, kWordBits);
    std::uint64_t bits = *from;
    if (shift + taken > kWordBits) bits |= std::uint64_t{from[1]} << kWordBits;
    set.words_[word] =
        static_cast<std::uint32_t>(bits >> shift & ((std::uint64_t{1} << taken) - 1));
    left -= taken;
  }
  return set;
}

BlockSet BlockSet::read(const std::byte* wire, std::uint32_t blocks) {
  BlockSet set;
  std::memcpy(set.words_.data(), wire, wire_bytes(blocks));  // little-endian
  return set;
}

BlockSet BlockSet::all(std::uint32_t blocks) {
  BlockSet set;
  for (std::uint32_t word = 0; blocks > 0; ++word) {
    const std::uint32_t taken = std::min(blocks, kWordBits);
    set.words_[word] = ~0U >> (kWordBits - taken);
    blocks -= taken;
  }
  return set;
}

void BlockSet::write(std::byte* wire, std::uint32_t blocks) const {
  std::memcpy(wire, words_.data(), wire_bytes(blocks));
}

bool BlockSet::reaches_beyond(std::uint32_t blocks) const {
  return next(blocks, true) < kBlocksMax;
}

std::uint32_t BlockSet::count() const {
  int bits = 0;
  for (const std::uint32_t word : words_) {
    if (word != 0) bits += std::popcount(word);  // counting may be a call, so skip empty words
  }
  return static_cast<std::uint32_t>(bits);
}

std::uint32_t BlockSet::element_count(ElementLayout layout, std::uint32_t chunk_elements) const {
  const std::uint32_t blocks = layout.block_count(chunk_elements);
  const std::uint32_t missing = blocks * layout.block_elements() - chunk_elements;
  const bool has_short_one = missing > 0 && has(blocks - 1);
  return count() * layout.block_elements() - (has_short_one ? missing : 0);
}

std::uint32_t BlockSet::next(std::uint32_t block, bool present) const {
  for (std::uint32_t word = block / kWordBits; word < words_.size(); ++word) {
    std::uint32_t bits = present ? words_[word] : ~words_[word];
    if (word == block / kWordBits) bits &= ~0U << (block % kWordBits);
    if (bits != 0) return word * kWordBits + static_cast<std::uint32_t>(std::countr_zero(bits));
  }
  return kBlocksMax;
}

}  // namespace infold::core
