// SPDX-License-Identifier: Apache-2.0
//
// What an aggregator does to a contribution's elements, and how it writes the sum (spec section
// 4). Integers are summed where the result will be sent from; block floats in 64-bit lanes that
// count in the unit of the finest exponent seen, so that the sum is exact whatever the order.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "core/aggregator.h"

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

std::size_t special_words(const ChunkWords& words) { return (words.elements + 63U) / 64; }

}  // namespace

void Aggregator::add_payload(const Packet& packet, Copy& copy, Arrays arrays) {
  if (packet.header.words.layout().is_block_float()) {
    add_blocks(packet, copy, arrays);
  } else {
    add_integers(packet, copy, arrays);
  }
}

void Aggregator::add_integers(const Packet& packet, Copy& copy, Arrays arrays) {
  const ChunkWords& words = copy.words;
  std::byte* const sum = arrays.datagram + INFOLD_HEADER_BYTES;
  if (!copy.has_lanes) {
    std::memcpy(sum, packet.elements, words.elements * words.layout().element_bytes());
    copy.has_lanes = true;
    return;
  }
  const std::uint32_t index = integer_index(words.layout().format);
  switch (words.reduction()) {
    case Reduction::sum:
    case Reduction::average: arithmetic_->sum[index](sum, packet.elements, words.elements); return;
    case Reduction::min: arithmetic_->min[index](sum, packet.elements, words.elements); return;
    case Reduction::max: arithmetic_->max[index](sum, packet.elements, words.elements); return;
  }
}

// Decides how each block joins the lanes; an empty block has code 0. Returns whether
// all exponents lie within the spread. If not, the high codes are still those of all blocks.
bool Aggregator::plan_blocks(const BlockCodes& codes, std::uint32_t blocks, std::int32_t spread,
                             Arrays arrays) {
  bool fits = true;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint16_t low = codes.low[block];
    const std::uint16_t lane_low = arrays.low_codes[block];
    const std::uint16_t high = std::max({low, codes.high[block], arrays.high_codes[block]});
    arrays.high_codes[block] = high;
    BlockStep step;
    if (low != 0) {
      const std::uint16_t finest = lane_low == 0 ? low : std::min(low, lane_low);
      fits = fits && high - finest <= spread;
      step.action = lane_low == 0 ? BlockStep::Action::store : BlockStep::Action::add;
      step.lane_shift = static_cast<std::uint8_t>(lane_low == 0 ? 0 : lane_low - finest);
      step.mantissa_shift = static_cast<std::uint8_t>(low - finest);
      arrays.low_codes[block] = finest;
    }
    steps_[block] = step;
  }
  return fits;
}

void Aggregator::add_blocks(const Packet& packet, Copy& copy, Arrays arrays) {
  const ElementLayout layout = copy.words.layout();
  const std::uint32_t elements = copy.words.elements;
  const std::uint32_t blocks = layout.block_count(elements);
  const bool is_partial = packet.header.kind == Kind::partial;
  std::uint16_t* const lows = packet_codes_.data();
  std::uint16_t* const highs = is_partial ? lows + blocks_max_ : lows;
  read_codes(layout, packet.exponents, blocks, lows);
  if (is_partial) {
    read_codes(layout, packet.exponents + blocks * layout.exponent_code_bytes(), blocks, highs);
  }
  const bool fits =
      plan_blocks({lows, highs}, blocks, spread_[mantissa_index(layout.format)], arrays);
  copy.overrange = copy.overrange || !fits || packet.header.kind == Kind::overrange;
  copy.has_lanes = true;
  if (copy.overrange) return;
  const std::byte* const mantissas =
      packet.has_specials() ? take_specials(packet, copy, arrays) : packet.elements;
  const std::uint32_t width = is_partial ? 3 : mantissa_index(layout.format);
  arithmetic_->accumulate[width](arrays.lanes, mantissas, elements, layout.block_elements(),
                                 steps_.data());
}

// Moves NaN and infinities out of the way of the sum: into two bit sets, where a NaN is in both.
// Returns mantissas that hold 0 in their place.
const std::byte* Aggregator::take_specials(const Packet& packet, Copy& copy, Arrays arrays) {
  const std::size_t words = special_words(copy.words);
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

  const ElementLayout layout = copy.words.layout();
  const std::uint32_t width = layout.element_bytes();
  std::memcpy(cleaned_.data(), packet.elements, copy.words.elements * width);
  for (std::uint32_t i = 0; i < copy.words.elements; ++i) {
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
  const ElementLayout layout = copy.words.layout();
  const std::uint32_t elements = copy.words.elements;
  std::byte* const exponents = arrays.datagram + INFOLD_HEADER_BYTES;
  std::byte* const mantissas = exponents + layout.exponent_bytes(elements);
  std::fill(exponents, mantissas, std::byte{0});
  const bool overflowed = arithmetic_->encode[mantissa_index(layout.format)](
      arrays.lanes, elements, layout, arrays.low_codes, packet_codes_.data(), mantissas);
  write_codes(layout, packet_codes_.data(), layout.block_count(elements), exponents);
  if (copy.has_specials) overlay_specials(copy, arrays, mantissas);
  if (overflowed || copy.has_specials) header.flags |= INFOLD_FLAG_SPECIALS;
}

void Aggregator::overlay_specials(const Copy& copy, Arrays arrays, std::byte* mantissas) const {
  const ElementLayout layout = copy.words.layout();
  const std::uint32_t width = layout.element_bytes();
  for (std::size_t word = 0; word < special_words(copy.words); ++word) {
    std::uint64_t left = arrays.plus_infinity[word] | arrays.minus_infinity[word];
    while (left != 0) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(left));
      left &= left - 1;
      const auto element = static_cast<std::uint32_t>(word * 64 + bit);
      if (element >= copy.words.elements) break;
      const bool plus = (arrays.plus_infinity[word] >> bit & 1) != 0;
      const bool minus = (arrays.minus_infinity[word] >> bit & 1) != 0;
      const std::int64_t code = plus && minus ? layout.code_nan()
                                : plus        ? layout.code_plus_infinity()
                                              : layout.code_minus_infinity();
      store_mantissa(mantissas, element, width, code);
    }
  }
}

// The exact sum for the parent: unit and largest code of each block, the lanes, and the sets of
// specials where there are any.
void Aggregator::write_partial(Copy& copy, Arrays arrays, Header& header) {
  const ElementLayout layout = copy.words.layout();
  const std::uint32_t elements = copy.words.elements;
  const std::uint32_t blocks = layout.block_count(elements);
  std::byte* const codes = arrays.datagram + INFOLD_HEADER_BYTES;
  std::byte* const lanes = codes + layout.partial_exponent_bytes(elements);
  std::fill(codes, lanes, std::byte{0});
  write_codes(layout, arrays.low_codes, blocks, codes);
  write_codes(layout, arrays.high_codes, blocks, codes + blocks * layout.exponent_code_bytes());
  for (std::uint32_t block = 0; block < blocks; ++block) {
    if (arrays.low_codes[block] != 0) continue;
    const std::uint32_t first = block * layout.block_elements();
    std::fill_n(arrays.lanes + first, std::min(layout.block_elements(), elements - first),
                std::int64_t{0});
  }
  std::memcpy(lanes, arrays.lanes, elements * sizeof(std::int64_t));
  if (!copy.has_specials) return;
  header.flags |= INFOLD_FLAG_SPECIALS;
  const std::size_t bytes = special_words(copy.words) * sizeof(std::uint64_t);
  std::byte* const sets = lanes + elements * sizeof(std::int64_t);
  std::memcpy(sets, arrays.plus_infinity, bytes);
  std::memcpy(sets + bytes, arrays.minus_infinity, bytes);
}

}  // namespace infold::core
