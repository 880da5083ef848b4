// SPDX-License-Identifier: Apache-2.0
//
// A quarter has 8 to 128 bytes. Its length is a constant in each loop here, so that copying a
// quarter is a few loads and stores instead of a call.
#include "core/packet/quarters.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "core/packet/packet.h"

namespace infold::core {
namespace {

constexpr std::uint32_t kQuarters = 4;

std::uint32_t quarter_bytes(ElementLayout layout) {
  return layout.block_elements() / kQuarters * layout.element_bytes();
}

std::uint32_t code_bytes(ElementLayout layout) {
  return layout.is_block_float() ? layout.exponent_code_bytes() : 0;
}

std::uint32_t bits_bytes(std::uint32_t blocks) { return (blocks + 1) / 2; }

// Returns the bytes of bits and codes, padded together so that elements stay aligned.
std::uint32_t head_bytes(ElementLayout layout, std::uint32_t blocks) {
  return (bits_bytes(blocks) + blocks * code_bytes(layout) + 3) & ~3U;
}

// Returns the bytes of the elements of one of a chunk's blocks.
std::uint32_t block_bytes(ElementLayout layout, std::uint32_t chunk_elements, std::uint32_t block) {
  const std::uint32_t left = chunk_elements - (block << layout.block_shift());
  return std::min(left, layout.block_elements()) * layout.element_bytes();
}

// Calls visit(block, bytes of its elements) for each of a chunk's blocks in the set, in order.
template <typename Visit>
void for_each_block(const BlockSet& blocks, ElementLayout layout, std::uint32_t chunk_elements,
                    Visit&& visit) {
  blocks.for_each_run([&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t block = first; block < first + count; ++block) {
      visit(block, block_bytes(layout, chunk_elements, block));
    }
  });
}

// Calls visit with the length of a quarter as a constant.
template <typename Visit>
auto with_quarter_bytes(ElementLayout layout, Visit&& visit) {
  switch (quarter_bytes(layout)) {
    case 8: return visit(std::integral_constant<std::uint32_t, 8>());
    case 16: return visit(std::integral_constant<std::uint32_t, 16>());
    case 32: return visit(std::integral_constant<std::uint32_t, 32>());
    case 64: return visit(std::integral_constant<std::uint32_t, 64>());
    default: return visit(std::integral_constant<std::uint32_t, 128>());
  }
}

bool holds_something(const std::byte* at, std::uint32_t bytes) {
  return std::any_of(at, at + bytes, [](std::byte each) { return each != std::byte{0}; });
}

template <std::uint32_t kBytes>
std::uint8_t bits_of(const std::byte* block, std::uint32_t bytes) {
  std::uint32_t bits = 0;
  if (bytes < kQuarters * kBytes) {
    for (std::uint32_t at = 0; at < bytes; at += kBytes) {
      const bool is_kept = holds_something(block + at, std::min(kBytes, bytes - at));
      bits |= std::uint32_t{is_kept} << at / kBytes;
    }
    return static_cast<std::uint8_t>(bits);
  }
  for (std::uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
    std::uint64_t all = 0;
    for (std::uint32_t at = 0; at < kBytes; at += sizeof(all)) {
      std::uint64_t piece;
      std::memcpy(&piece, block + quarter * kBytes + at, sizeof(piece));
      all |= piece;
    }
    bits |= std::uint32_t{all != 0} << quarter;
  }
  return static_cast<std::uint8_t>(bits);
}

// Counts the set bits among four, because not every processor has an instruction for that.
constexpr std::uint32_t count_of(std::uint32_t bits) {
  return static_cast<std::uint32_t>(std::uint64_t{0x4332'3221'3221'2110} >> 4 * bits & 15);
}

// Returns the bytes of the kept quarters of a block, whose last quarter may be short or missing.
std::uint32_t kept_bytes(std::uint32_t bits, std::uint32_t quarter, std::uint32_t block) {
  std::uint32_t bytes = count_of(bits) * quarter;
  if (block == kQuarters * quarter) return bytes;
  const std::uint32_t last = (block - 1) / quarter;
  if ((bits >> last & 1) != 0) bytes -= (last + 1) * quarter - block;
  return bytes;
}

std::uint32_t all_bits(std::uint32_t quarter, std::uint32_t block) {
  return (1U << (block + quarter - 1) / quarter) - 1;
}

// Returns whether every quarter begins with a nonzero word. This quick test succeeds for dense
// tensors, so that their sums are not slowed down. If it fails, look_closely() examines the
// quarters.
template <std::uint32_t kBytes>
bool begins_with_something(const std::byte* at, std::size_t bytes) {
  if (bytes % kBytes != 0) return false;
  for (const std::byte* const end = at + bytes; at < end; at += kBytes) {
    std::uint64_t first;
    std::memcpy(&first, at, sizeof(first));
    if (first == 0) return false;
  }
  return true;
}

// Processors cannot predict which quarters are kept, so this avoids branches. As long as there is
// room before `end`, it copies every quarter, and the next one overwrites a quarter that is not
// kept.
template <std::uint32_t kBytes>
std::byte* pack_block(const std::byte* block, std::uint32_t bits, std::uint32_t bytes,
                      std::byte* to, const std::byte* end) {
  if (bytes == kQuarters * kBytes && end - to >= static_cast<std::ptrdiff_t>(bytes)) {
    for (std::uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
      std::memcpy(to, block + quarter * kBytes, kBytes);
      to += (bits >> quarter & 1) * kBytes;
    }
    return to;
  }
  for (; bits != 0; bits &= bits - 1) {
    const std::uint32_t at = static_cast<std::uint32_t>(std::countr_zero(bits)) * kBytes;
    to = std::copy_n(block + at, std::min(kBytes, bytes - at), to);
  }
  return to;
}

// Avoids branches in the same way: it copies zeros for quarters that were left out.
template <std::uint32_t kBytes>
const std::byte* spread_block(const std::byte* from, std::uint32_t bits, std::uint32_t bytes,
                              std::byte* to) {
  static constexpr std::byte kZeros[kBytes] = {};
  std::uint32_t at = 0;
  for (; at + kBytes <= bytes; at += kBytes, bits >>= 1) {
    const bool is_kept = (bits & 1) != 0;
    std::memcpy(to + at, is_kept ? from : kZeros, kBytes);
    from += is_kept ? kBytes : 0;
  }
  if (at == bytes) return from;
  const bool is_kept = (bits & 1) != 0;
  std::copy_n(is_kept ? from : kZeros, bytes - at, to + at);
  return from + (is_kept ? bytes - at : 0);
}

std::uint32_t bits_at(const std::byte* bits, std::uint32_t order) {
  return std::to_integer<std::uint32_t>(bits[order / 2]) >> order % 2 * 4 & 15;
}

}  // namespace

Quarters::Quarters(ElementLayout layout, std::uint32_t chunk_elements, const BlocksInMemory& source)
    : layout_(layout), chunk_elements_(chunk_elements) {
  const std::uint32_t elements = source.blocks.element_count(layout, chunk_elements);
  const std::size_t bytes = std::size_t{elements} * layout.element_bytes();
  with_quarter_bytes(layout, [&](auto quarter) {
    if (begins_with_something<quarter()>(source.elements, bytes)) {
      take_all(source.blocks, elements);
    } else {
      look_closely<quarter()>(source);
    }
  });
}

bool Quarters::keep_all(ElementLayout layout, std::span<const std::byte> elements) {
  return with_quarter_bytes(layout, [&](auto quarter) {
    return begins_with_something<quarter()>(elements.data(), elements.size());
  });
}

void Quarters::take_all(const BlockSet& blocks, std::uint32_t elements) {
  kept_ = blocks;
  kept_count_ = blocks.count();
  kept_elements_ = elements;
  std::fill_n(bits_.begin(), kept_count_, std::uint8_t{15});
  const std::uint32_t last = layout_.block_count(chunk_elements_) - 1;
  if (kept_count_ == 0 || !blocks.has(last)) return;
  const std::uint32_t bytes = block_bytes(layout_, chunk_elements_, last);
  bits_[kept_count_ - 1] = static_cast<std::uint8_t>(all_bits(quarter_bytes(layout_), bytes));
}

template <std::uint32_t kBytes>
void Quarters::look_closely(const BlocksInMemory& source) {
  const std::byte* at = source.elements;
  std::uint8_t* bits = bits_.data();
  std::uint32_t kept = 0;
  const auto look = [&](std::uint32_t block, std::uint32_t bytes) {
    const std::uint8_t found = bits_of<kBytes>(at, bytes);
    *bits++ = found;
    at += bytes;
    if (found == 0) return;
    kept_.insert(block);
    ++kept_count_;
    kept += kept_bytes(found, kBytes, bytes);
  };
  for_each_block(source.blocks, layout_, chunk_elements_, look);
  kept_elements_ = kept / layout_.element_bytes();
}

std::size_t Quarters::bytes() const {
  return BlockSet::wire_bytes(layout_.block_count(chunk_elements_)) +
         head_bytes(layout_, kept_count_) + kept_elements_ * layout_.element_bytes();
}

void Quarters::write(const BlocksInMemory& source, std::byte* to) const {
  const std::uint32_t all_blocks = layout_.block_count(chunk_elements_);
  kept_.write(to, all_blocks);
  std::byte* const bits = to + BlockSet::wire_bytes(all_blocks);
  std::byte* codes = bits + bits_bytes(kept_count_);
  std::byte* elements = bits + head_bytes(layout_, kept_count_);
  const std::byte* const end = to + this->bytes();
  std::fill(bits, elements, std::byte{0});
  const std::uint32_t code = code_bytes(layout_);
  with_quarter_bytes(layout_, [&](auto quarter) {
    const std::byte* at = source.elements;
    const std::byte* from_code = source.exponents;
    const std::uint8_t* found = bits_.data();
    std::uint32_t order = 0;
    const auto pack = [&](std::uint32_t, std::uint32_t bytes) {
      if (*found != 0) {
        bits[order / 2] |= static_cast<std::byte>(*found << order % 2 * 4);
        ++order;
        codes = std::copy_n(from_code, code, codes);
        elements = pack_block<quarter()>(at, *found, bytes, elements, end);
      }
      ++found;
      from_code += code;
      at += bytes;
    };
    for_each_block(source.blocks, layout_, chunk_elements_, pack);
  });
}

std::optional<QuartersView> QuartersView::parse(ElementLayout layout, std::uint32_t chunk_elements,
                                                std::span<const std::byte> bytes) {
  const std::uint32_t all_blocks = layout.block_count(chunk_elements);
  const std::size_t set_bytes = BlockSet::wire_bytes(all_blocks);
  if (bytes.size() < set_bytes) return std::nullopt;
  QuartersView view;
  view.layout_ = layout;
  view.chunk_elements_ = chunk_elements;
  view.blocks_ = BlockSet::read(bytes.data(), all_blocks);
  if (view.blocks_.reaches_beyond(all_blocks)) return std::nullopt;
  const std::uint32_t count = view.blocks_.count();
  const std::size_t before_elements = set_bytes + head_bytes(layout, count);
  if (bytes.size() < before_elements) return std::nullopt;
  const std::byte* const bits_there = bytes.data() + set_bytes;
  std::memcpy(view.bits_.data(), bits_there, bits_bytes(count));
  view.exponents_ = bits_there + bits_bytes(count);
  view.elements_ = bytes.data() + before_elements;

  const std::uint32_t quarter = quarter_bytes(layout);
  const bool has_last = count > 0 && view.blocks_.has(all_blocks - 1);
  std::uint32_t kept = 0;
  for (std::uint32_t order = 0; order < count; ++order) {
    const bool is_last = has_last && order + 1 == count;
    const std::uint32_t block =
        is_last ? block_bytes(layout, chunk_elements, all_blocks - 1) : kQuarters * quarter;
    const std::uint32_t bits = bits_at(view.bits_.data(), order);
    if (bits == 0 || (bits & ~all_bits(quarter, block)) != 0) return std::nullopt;
    kept += kept_bytes(bits, quarter, block);
  }
  if (count % 2 != 0 && bits_at(view.bits_.data(), count) != 0) return std::nullopt;
  const std::byte* const padding = view.exponents_ + std::size_t{count} * code_bytes(layout);
  if (holds_something(padding, static_cast<std::uint32_t>(view.elements_ - padding))) {
    return std::nullopt;
  }
  if (layout.is_block_float() &&
      check_codes(layout, view.exponents_, count, 1) != Malformed::none) {
    return std::nullopt;
  }
  view.bytes_ = before_elements + kept;
  if (bytes.size() < view.bytes_) return std::nullopt;
  return view;
}

void QuartersView::spread_blocks(std::byte* elements) const {
  with_quarter_bytes(layout_, [&](auto quarter) {
    const std::byte* from = elements_;
    std::uint32_t order = 0;
    for_each_block(blocks_, layout_, chunk_elements_, [&](std::uint32_t, std::uint32_t bytes) {
      from = spread_block<quarter()>(from, bits_at(bits_.data(), order++), bytes, elements);
      elements += bytes;
    });
  });
}

void QuartersView::spread_chunk(std::byte* exponents, std::byte* elements) const {
  std::fill_n(exponents, layout_.exponent_bytes(chunk_elements_), std::byte{0});
  const std::uint32_t code = code_bytes(layout_);
  std::byte* const end = elements + std::size_t{chunk_elements_} * layout_.element_bytes();
  const std::size_t block_stride = layout_.block_elements() * layout_.element_bytes();
  with_quarter_bytes(layout_, [&](auto quarter) {
    const std::byte* from = elements_;
    std::byte* to = elements;
    std::uint32_t order = 0;
    blocks_.for_each_run([&](std::uint32_t first, std::uint32_t count) {
      std::byte* const run = elements + first * block_stride;
      std::fill(to, run, std::byte{0});
      to = run;
      std::copy_n(exponents_ + std::size_t{order} * code, count * code, exponents + first * code);
      for (std::uint32_t block = first; block < first + count; ++block) {
        const std::uint32_t bytes = block_bytes(layout_, chunk_elements_, block);
        from = spread_block<quarter()>(from, bits_at(bits_.data(), order++), bytes, to);
        to += bytes;
      }
    });
    std::fill(to, end, std::byte{0});
  });
}

}  // namespace infold::core
