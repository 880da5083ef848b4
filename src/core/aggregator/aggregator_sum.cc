// SPDX-License-Identifier: Apache-2.0
//
// How an aggregator sums a contribution's elements and writes the sum (spec section 4). It sums
// integers in place in the datagram of the result. It sums block floats in lanes that count in the
// unit of the finest exponent seen, so that the sum is exact in any order. A copy's lanes are as
// narrow as its exponents allow, and are widened when they must be, without a change of value.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "core/aggregator/aggregator.h"
#include "core/packet/sparse_body.h"
#include "core/packet/stretches.h"

namespace infold::core {
namespace {

std::int64_t load_mantissa(const std::byte* mantissas, std::uint32_t index, std::uint32_t width) {
  switch (width) {
    case 1: return static_cast<std::int8_t>(mantissas[index]);
    case 2: {
      std::int16_t value;
      std::memcpy(&value, mantissas + index * std::size_t{2}, 2);
      return value;
    }
    default: {
      std::int32_t value;
      std::memcpy(&value, mantissas + index * std::size_t{4}, 4);
      return value;
    }
  }
}

void store_mantissa(std::byte* mantissas, std::uint32_t index, std::uint32_t width,
                    std::int64_t value) {
  std::memcpy(mantissas + std::size_t{index} * width, &value, width);  // little-endian
}

std::size_t special_words(const ChunkSignature& signature) {
  return (signature.elements + 63U) / 64;
}

// Reads the codes, and adds zeros up to a multiple of kBlocksTogether.
void read_codes_padded(ElementLayout layout, const std::byte* wire, std::uint32_t blocks,
                       std::uint16_t* codes) {
  std::fill_n(codes + blocks / kBlocksTogether * kBlocksTogether, kBlocksTogether,
              std::uint16_t{0});
  read_codes(layout, wire, blocks, codes);
}

// Does the same for the blocks that are present; all others get code 0.
void read_present_codes(ElementLayout layout, const Packet& packet, std::uint32_t blocks,
                        std::uint16_t* codes) {
  std::fill_n(codes, blocks / kBlocksTogether * kBlocksTogether + kBlocksTogether,
              std::uint16_t{0});
  const std::byte* wire = packet.exponents;
  packet.present->for_each_run([&](std::uint32_t first, std::uint32_t count) {
    read_codes(layout, wire, count, codes + first);
    wire += std::size_t{count} * layout.exponent_code_bytes();
  });
}

}  // namespace

void Aggregator::add_payload(const Packet& packet, Copy& copy, Arrays arrays) {
  if (packet.header.signature.layout().is_native()) {
    add_exact(packet, copy, arrays);
  } else if (packet.header.signature.layout().is_block_float()) {
    add_blocks(packet, copy, arrays);
  } else {
    add_integers(packet, copy, arrays);
  }
}

void Aggregator::add_integers(const Packet& packet, Copy& copy, Arrays arrays) {
  const ChunkSignature& signature = copy.signature;
  std::byte* const sum = arrays.datagram + INFOLD_HEADER_BYTES;
  if (packet.present != nullptr) {
    add_present_integers(packet, copy, sum);
    return;
  }
  if (!copy.has_lanes) {
    std::memcpy(sum, packet.elements, signature.elements * signature.layout().element_bytes());
    copy.has_lanes = true;
    return;
  }
  const std::uint32_t index = integer_index(signature.layout().format);
  switch (signature.reduction()) {
    case Reduction::sum:
    case Reduction::average:
      arithmetic_->sum[index](sum, packet.elements, signature.elements);
      return;
    case Reduction::min: arithmetic_->min[index](sum, packet.elements, signature.elements); return;
    case Reduction::max: arithmetic_->max[index](sum, packet.elements, signature.elements); return;
    case Reduction::bit_or:
      arithmetic_->bit_or[index](sum, packet.elements, signature.elements);
      return;
  }
}

// Absent elements are zero, which changes neither a sum nor an or.
void Aggregator::add_present_integers(const Packet& packet, Copy& copy, std::byte* sum) {
  const ElementLayout layout = copy.signature.layout();
  const std::size_t width = layout.element_bytes();
  if (!copy.has_lanes) std::memset(sum, 0, copy.signature.elements * width);
  copy.has_lanes = true;
  const std::uint32_t index = integer_index(layout.format);
  const bool adds = copy.signature.reduction() != Reduction::bit_or;
  const Arithmetic::Combine combine = (adds ? arithmetic_->sum : arithmetic_->bit_or)[index];
  for_each_stretch(
      packet, packet.elements,
      [&](std::uint32_t, std::uint32_t first, std::uint32_t count, const std::byte* elements) {
        combine(sum + first * width, elements, count);
      });
}

LaneWidth Aggregator::width_for(WireFormat format, std::int32_t reach) const {
  const auto& spread = spread_[mantissa_index(format)];
  if (reach <= spread[lane_index(LaneWidth::bits16)]) return LaneWidth::bits16;
  if (reach <= spread[lane_index(LaneWidth::bits32)]) return LaneWidth::bits32;
  return LaneWidth::bits64;
}

void Aggregator::widen_lanes(Copy& copy, Arrays arrays, LaneWidth wanted) const {
  while (copy.lane_width < wanted) {
    arithmetic_->widen[lane_index(copy.lane_width)](arrays.lanes, copy.signature.elements);
    copy.lane_width = static_cast<LaneWidth>(lane_index(copy.lane_width) + 1);
  }
}

void Aggregator::add_blocks(const Packet& packet, Copy& copy, Arrays arrays) {
  const ElementLayout layout = copy.signature.layout();
  const std::uint32_t elements = copy.signature.elements;
  const std::uint32_t blocks = layout.block_count(elements);
  const bool is_partial = packet.header.kind == Kind::partial;
  std::uint16_t* const lows = packet_codes_.data();
  std::uint16_t* const highs = is_partial ? lows + blocks_max_ : lows;
  if (packet.present != nullptr) {
    read_present_codes(layout, packet, blocks, lows);
  } else {
    read_codes_padded(layout, packet.exponents, blocks, lows);
  }
  if (is_partial) {
    read_codes_padded(layout, packet.exponents + blocks * layout.exponent_code_bytes(), blocks,
                      highs);
  }
  const auto reach = static_cast<std::int32_t>(
      arithmetic_->plan({lows, highs, arrays.low_codes, arrays.high_codes}, blocks, steps_.data()));
  const bool fits = reach <= spread_[mantissa_index(layout.format)][lane_index(LaneWidth::bits64)];
  copy.overrange = copy.overrange || !fits || packet.header.kind == Kind::overrange;
  const bool is_first = !copy.has_lanes;
  copy.has_lanes = true;
  if (copy.overrange) return;
  const LaneWidth width = is_partial ? LaneWidth::bits64 : width_for(layout.format, reach);
  if (is_first) copy.lane_width = width;
  widen_lanes(copy, arrays, width);
  const std::byte* const mantissas =
      packet.has_specials() ? take_specials(packet, copy, arrays) : packet.elements;
  const std::uint32_t mantissa_width = is_partial ? 3 : mantissa_index(layout.format);
  const auto accumulate = arithmetic_->accumulate[lane_index(copy.lane_width)][mantissa_width];
  const std::size_t lane_bytes = core::lane_bytes(copy.lane_width);
  for_each_stretch(
      packet, mantissas,
      [&](std::uint32_t block, std::uint32_t first, std::uint32_t count, const std::byte* from) {
        accumulate(arrays.lanes + first * lane_bytes, from, count, layout.block_elements(),
                   steps_.data() + block);
      });
}

// Moves NaN and infinities out of the sum into two bit sets; a NaN is in both. Returns mantissas
// that have 0 in their place.
const std::byte* Aggregator::take_specials(const Packet& packet, Copy& copy, Arrays arrays) {
  const std::size_t words = special_words(copy.signature);
  if (!copy.has_specials) {
    std::fill_n(arrays.plus_infinity, words, std::uint64_t{0});
    std::fill_n(arrays.minus_infinity, words, std::uint64_t{0});
    copy.has_specials = true;
  }
  if (packet.specials != nullptr) {
    for (std::size_t i = 0; i < words; ++i) {
      std::uint64_t plus;
      std::uint64_t minus;
      std::memcpy(&plus, packet.specials + i * sizeof(plus), sizeof(plus));
      std::memcpy(&minus, packet.specials + (words + i) * sizeof(minus), sizeof(minus));
      arrays.plus_infinity[i] |= plus;
      arrays.minus_infinity[i] |= minus;
    }
    return packet.elements;
  }

  const ElementLayout layout = copy.signature.layout();
  const std::uint32_t width = layout.element_bytes();
  std::memcpy(cleaned_.data(), packet.elements, copy.signature.elements * width);
  for (std::uint32_t i = 0; i < copy.signature.elements; ++i) {
    const std::int64_t mantissa = load_mantissa(packet.elements, i, width);
    const bool is_nan = mantissa == layout.code_nan();
    const bool plus = is_nan || mantissa == layout.code_plus_infinity();
    const bool minus = is_nan || mantissa == layout.code_minus_infinity();
    if (!plus && !minus) continue;
    arrays.plus_infinity[i / 64] |= std::uint64_t{plus} << (i % 64);
    arrays.minus_infinity[i / 64] |= std::uint64_t{minus} << (i % 64);
    store_mantissa(cleaned_.data(), i, width, 0);
  }
  return cleaned_.data();
}

void Aggregator::write_result(Copy& copy, Arrays arrays, Header& header) {
  const ElementLayout layout = copy.signature.layout();
  const std::uint32_t elements = copy.signature.elements;
  std::byte* const exponents = arrays.datagram + INFOLD_HEADER_BYTES;
  std::byte* const mantissas = exponents + layout.exponent_bytes(elements);
  std::fill(exponents, mantissas, std::byte{0});
  const auto& encode = arithmetic_->encode[lane_index(copy.lane_width)];
  const bool overflowed = encode[mantissa_index(layout.format)](
      arrays.lanes, elements, layout, arrays.low_codes, packet_codes_.data(), mantissas);
  write_codes(layout, packet_codes_.data(), layout.block_count(elements), exponents);
  if (copy.has_specials) overlay_specials(copy, arrays, mantissas);
  if (overflowed || copy.has_specials) header.flags |= INFOLD_FLAG_SPECIALS;
}

void Aggregator::overlay_specials(const Copy& copy, Arrays arrays, std::byte* mantissas) const {
  const ElementLayout layout = copy.signature.layout();
  const std::uint32_t width = layout.element_bytes();
  for (std::size_t word = 0; word < special_words(copy.signature); ++word) {
    std::uint64_t left = arrays.plus_infinity[word] | arrays.minus_infinity[word];
    while (left != 0) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(left));
      left &= left - 1;
      const auto element = static_cast<std::uint32_t>(word * 64 + bit);
      if (element >= copy.signature.elements) break;
      const bool plus = (arrays.plus_infinity[word] >> bit & 1) != 0;
      const bool minus = (arrays.minus_infinity[word] >> bit & 1) != 0;
      const std::int64_t code = plus && minus ? layout.code_nan()
                                : plus        ? layout.code_plus_infinity()
                                              : layout.code_minus_infinity();
      store_mantissa(mantissas, element, width, code);
    }
  }
}

// Rewrites the result without the quarters that are zeros if that makes it smaller. Returns
// the new size of the datagram, or 0 if it did not become smaller.
std::uint32_t Aggregator::leave_out_quarters(const Copy& copy, Arrays arrays) {
  const ElementLayout layout = copy.signature.layout();
  const std::uint32_t elements = copy.signature.elements;
  const std::size_t bytes = layout.payload_bytes(elements);
  const BlockSet blocks = BlockSet::all(layout.block_count(elements));
  std::byte* const body = arrays.datagram + INFOLD_HEADER_BYTES;
  const std::size_t codes = layout.exponent_bytes(elements);
  const Quarters quarters(layout, elements, {blocks, body, body + codes});
  if (sizeof(infold_sparse) + quarters.bytes() >= bytes) return 0;
  std::copy_n(body, bytes, whole_.begin());
  QuartersWriter writer({body, bytes});
  CHECK(writer.add(quarters, {blocks, whole_.data(), whole_.data() + codes}));
  return static_cast<std::uint32_t>(INFOLD_HEADER_BYTES + writer.bytes());
}

// Writes the exact sum for the parent: the code of the unit and the largest code of each block, the
// lanes, and the sets of specials if there are any.
void Aggregator::write_partial(Copy& copy, Arrays arrays, Header& header) {
  const ElementLayout layout = copy.signature.layout();
  const std::uint32_t elements = copy.signature.elements;
  const std::uint32_t blocks = layout.block_count(elements);
  std::byte* const codes = arrays.datagram + INFOLD_HEADER_BYTES;
  std::byte* const lanes = codes + layout.partial_exponent_bytes(elements);
  std::fill(codes, lanes, std::byte{0});
  write_codes(layout, arrays.low_codes, blocks, codes);
  write_codes(layout, arrays.high_codes, blocks, codes + blocks * layout.exponent_code_bytes());
  widen_lanes(copy, arrays, LaneWidth::bits64);
  std::memcpy(lanes, arrays.lanes, elements * sizeof(std::int64_t));
  for (std::uint32_t block = 0; block < blocks; ++block) {
    if (arrays.low_codes[block] != 0) continue;
    const std::uint32_t first = block * layout.block_elements();
    const std::uint32_t size = std::min(layout.block_elements(), elements - first);
    std::fill_n(lanes + first * sizeof(std::int64_t), size * sizeof(std::int64_t), std::byte{0});
  }
  if (!copy.has_specials) return;
  header.flags |= INFOLD_FLAG_SPECIALS;
  const std::size_t bytes = special_words(copy.signature) * sizeof(std::uint64_t);
  std::byte* const sets = lanes + elements * sizeof(std::int64_t);
  std::memcpy(sets, arrays.plus_infinity, bytes);
  std::memcpy(sets + bytes, arrays.minus_infinity, bytes);
}

}  // namespace infold::core
