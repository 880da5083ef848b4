// SPDX-License-Identifier: Apache-2.0
//
// A quarter is 8 to 64 bytes. Its length is a constant to each loop here, so that a quarter is a
// few loads and stores instead of a call.
#include "core/quarters.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

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

// Bits and codes, padded together so that elements stay aligned.
std::uint32_t head_bytes(ElementLayout layout, std::uint32_t blocks) {
  return (bits_bytes(blocks) + blocks * code_bytes(layout) + 3) & ~3U;
}

// Bytes of the elements of one of a chunk's blocks.
std::uint32_t block_bytes(ElementLayout layout, std::uint32_t chunk_elements, std::uint32_t block) {
  const std::uint32_t left = chunk_elements - (block << layout.block_shift());
  return std::min(left, layout.block_elements()) * layout.element_bytes();
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

// Of a block whose last quarter may be short, or not there.
std::uint32_t kept_bytes(std::uint32_t bits, std::uint32_t quarter, std::uint32_t block) {
  if (block == kQuarters * quarter) {
    return static_cast<std::uint32_t>(std::popcount(bits)) * quarter;
  }
  std::uint32_t bytes = 0;
  for (; bits != 0; bits &= bits - 1) {
    const std::uint32_t at = static_cast<std::uint32_t>(std::countr_zero(bits)) * quarter;
    bytes += std::min(quarter, block - at);
  }
  return bytes;
}

template <std::uint32_t kBytes>
std::byte* pack_block(const std::byte* block, std::uint32_t bits, std::uint32_t bytes,
                      std::byte* to) {
  for (; bits != 0; bits &= bits - 1) {
    const std::uint32_t at = static_cast<std::uint32_t>(std::countr_zero(bits)) * kBytes;
    if (at + kBytes <= bytes) {
      std::memcpy(to, block + at, kBytes);
      to += kBytes;
    } else {
      to = std::copy_n(block + at, bytes - at, to);
    }
  }
  return to;
}

std::uint32_t bits_at(const std::byte* bits, std::uint32_t order) {
  return std::to_integer<std::uint32_t>(bits[order / 2]) >> order % 2 * 4 & 15;
}

}  // namespace

Quarters::Quarters(ElementLayout layout, std::uint32_t chunk_elements, const BlocksInMemory& source)
    : layout_(layout), chunk_elements_(chunk_elements) {
  with_quarter_bytes(layout, [&](auto quarter) {
    const std::byte* at = source.elements;
    std::uint8_t* bits = bits_.data();
    std::uint32_t kept = 0;
    source.blocks.for_each_run([&](std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t block = first; block < first + count; ++block) {
        const std::uint32_t bytes = block_bytes(layout, chunk_elements, block);
        const std::uint8_t found = bits_of<quarter()>(at, bytes);
        *bits++ = found;
        at += bytes;
        if (found == 0) continue;
        kept_.insert(block);
        ++kept_count_;
        kept += kept_bytes(found, quarter(), bytes);
      }
    });
    kept_elements_ = kept / layout.element_bytes();
  });
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
  std::fill(bits, elements, std::byte{0});
  const std::uint32_t code = code_bytes(layout_);
  with_quarter_bytes(layout_, [&](auto quarter) {
    const std::byte* at = source.elements;
    const std::byte* from_code = source.exponents;
    const std::uint8_t* found = bits_.data();
    std::uint32_t order = 0;
    source.blocks.for_each_run([&](std::uint32_t first, std::uint32_t count) {
      for (std::uint32_t block = first; block < first + count; ++block) {
        const std::uint32_t bytes = block_bytes(layout_, chunk_elements_, block);
        if (*found != 0) {
          bits[order / 2] |= static_cast<std::byte>(*found << order % 2 * 4);
          ++order;
          codes = std::copy_n(from_code, code, codes);
          elements = pack_block<quarter()>(at, *found, bytes, elements);
        }
        ++found;
        from_code += code;
        at += bytes;
      }
    });
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
  view.bits_ = bytes.data() + set_bytes;
  view.exponents_ = view.bits_ + bits_bytes(count);
  view.elements_ = bytes.data() + before_elements;

  const std::uint32_t quarter = quarter_bytes(layout);
  const bool has_last = count > 0 && view.blocks_.has(all_blocks - 1);
  std::uint32_t kept = 0;
  for (std::uint32_t order = 0; order < count; ++order) {
    const bool is_last = has_last && order + 1 == count;
    const std::uint32_t block =
        is_last ? block_bytes(layout, chunk_elements, all_blocks - 1) : kQuarters * quarter;
    const std::uint32_t bits = bits_at(view.bits_, order);
    if (bits == 0 || bits >> (block + quarter - 1) / quarter != 0) return std::nullopt;
    kept += kept_bytes(bits, quarter, block);
  }
  if (count % 2 != 0 && bits_at(view.bits_, count) != 0) return std::nullopt;
  view.bytes_ = before_elements + kept;
  if (bytes.size() < view.bytes_) return std::nullopt;
  return view;
}

std::byte* QuartersView::spread_block(std::uint32_t block, std::uint32_t order,
                                      const std::byte*& from, std::byte* to) const {
  const std::uint32_t bytes = block_bytes(layout_, chunk_elements_, block);
  const std::uint32_t bits = bits_at(bits_, order);
  with_quarter_bytes(layout_, [&](auto quarter) {
    std::uint32_t at = 0;
    for (; at + quarter() <= bytes; at += quarter()) {
      if ((bits >> at / quarter() & 1) != 0) {
        std::memcpy(to + at, from, quarter());
        from += quarter();
      } else {
        std::memset(to + at, 0, quarter());
      }
    }
    if (at == bytes) return;
    const std::uint32_t rest = bytes - at;
    if ((bits >> at / quarter() & 1) != 0) {
      std::memcpy(to + at, from, rest);
      from += rest;
    } else {
      std::memset(to + at, 0, rest);
    }
  });
  return to + bytes;
}

void QuartersView::spread_blocks(std::byte* elements) const {
  const std::byte* from = elements_;
  std::uint32_t order = 0;
  blocks_.for_each_run([&](std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t block = first; block < first + count; ++block) {
      elements = spread_block(block, order++, from, elements);
    }
  });
}

void QuartersView::spread_chunk(std::byte* exponents, std::byte* elements) const {
  std::fill_n(exponents, layout_.exponent_bytes(chunk_elements_), std::byte{0});
  const std::uint32_t code = code_bytes(layout_);
  const std::byte* from = elements_;
  std::uint32_t order = 0;
  std::uint32_t at = 0;
  const auto clear_to = [&](std::uint32_t first) {
    const std::uint32_t end = std::min(first << layout_.block_shift(), chunk_elements_);
    const std::size_t bytes = std::size_t{end - at} * layout_.element_bytes();
    elements = std::fill_n(elements, bytes, std::byte{0});
    at = end;
  };
  blocks_.for_each_run([&](std::uint32_t first, std::uint32_t count) {
    clear_to(first);
    std::copy_n(exponents_ + std::size_t{order} * code, count * code, exponents + first * code);
    for (std::uint32_t block = first; block < first + count; ++block) {
      elements = spread_block(block, order++, from, elements);
    }
    at = std::min((first + count) << layout_.block_shift(), chunk_elements_);
  });
  clear_to(layout_.block_count(chunk_elements_));
}

}  // namespace infold::core
