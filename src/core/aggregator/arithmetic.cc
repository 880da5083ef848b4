// SPDX-License-Identifier: Apache-2.0
//
// The scalar loops that define every plane's arithmetic. They are written to be read beside spec
// section 4, not to be fast. Sums wrap in unsigned types, because wrapping is defined there.
#include "core/aggregator/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace infold::core {
namespace {

template <typename Int>
Int load(const std::byte* at, std::uint32_t index) {
  Int value;
  std::memcpy(&value, at + index * sizeof(Int), sizeof(Int));
  return value;
}

template <typename Int>
void store(std::byte* at, std::uint32_t index, Int value) {
  std::memcpy(at + index * sizeof(Int), &value, sizeof(Int));
}

template <typename Int>
struct Sum {
  static Int apply(Int a, Int b) {
    using Unsigned = std::make_unsigned_t<Int>;
    return static_cast<Int>(
        static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  }
};
template <typename Int>
struct Min {
  static Int apply(Int a, Int b) { return std::min(a, b); }
};
template <typename Int>
struct Max {
  static Int apply(Int a, Int b) { return std::max(a, b); }
};
template <typename Int>
struct BitOr {
  static Int apply(Int a, Int b) { return static_cast<Int>(a | b); }
};

template <typename Int, template <typename> typename Op>
void combine(std::byte* into, const std::byte* elements, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    store<Int>(into, i, Op<Int>::apply(load<Int>(into, i), load<Int>(elements, i)));
  }
}

std::uint32_t plan(const BlockCodes& codes, std::uint32_t blocks, BlockStep* steps) {
  std::uint32_t reach = 0;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint32_t low = codes.low[block];
    const std::uint32_t lane_low = codes.lane_low[block];
    const std::uint32_t high =
        std::max({low, std::uint32_t{codes.high[block]}, std::uint32_t{codes.lane_high[block]}});
    codes.lane_high[block] = static_cast<std::uint16_t>(high);
    steps[block] = BlockStep();
    if (low == 0) continue;
    const std::uint32_t finest = lane_low == 0 ? low : std::min(low, lane_low);
    codes.lane_low[block] = static_cast<std::uint16_t>(finest);
    reach = std::max(reach, high - finest);
    steps[block] = lane_low == 0
                       ? BlockStep(BlockStep::Action::store, 0, 0)
                       : BlockStep(BlockStep::Action::add, lane_low - finest, low - finest);
  }
  return reach;
}

template <typename Lane, typename Int>
void accumulate(std::byte* lanes, const std::byte* mantissas, std::uint32_t count,
                std::uint32_t block_elements, const BlockStep* steps) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const BlockStep step = steps[i / block_elements];
    if (step.action() == BlockStep::Action::skip) continue;
    const auto mantissa = static_cast<std::uint64_t>(std::int64_t{load<Int>(mantissas, i)});
    std::uint64_t sum = mantissa;
    if (step.action() == BlockStep::Action::add) {
      const auto lane = static_cast<std::uint64_t>(std::int64_t{load<Lane>(lanes, i)});
      sum = (lane << step.lane_shift()) + (mantissa << step.mantissa_shift());
    }
    store<Lane>(lanes, i, static_cast<Lane>(sum));
  }
}

// Starts at the end, so that no lane is overwritten before it is read.
template <typename Lane, typename Wider>
void widen(std::byte* lanes, std::uint32_t count) {
  for (std::uint32_t i = count; i-- > 0;) store<Wider>(lanes, i, load<Lane>(lanes, i));
}

std::uint64_t magnitude(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

// Divides by 2^shift and rounds to nearest, ties to even; a negative shift multiplies. It works on
// magnitudes, so that rounding is symmetric in sign.
std::uint64_t round_shift(std::uint64_t value, std::int32_t shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 63) return 0;
  const std::uint64_t whole = value >> shift;
  const std::uint64_t rest = value & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return whole + (rest > half || (rest == half && (whole & 1) != 0) ? 1 : 0);
}

// Returns the code of a block whose largest magnitude this is, in units of `lane_code`.
std::int32_t result_code(std::uint64_t largest, std::int32_t lane_code, ElementLayout layout) {
  const std::int32_t top = static_cast<std::int32_t>(std::bit_width(largest)) - 1;
  std::int32_t code = lane_code + top - layout.mantissa_top_bit();
  const auto limit = static_cast<std::uint64_t>(layout.mantissa_limit());
  if (round_shift(largest, code - lane_code) > limit) ++code;
  return std::clamp(code, 1, layout.exponent_code_max());
}

template <typename Lane, typename Int>
bool encode(const std::byte* lanes, std::uint32_t count, ElementLayout layout,
            const std::uint16_t* lane_codes, std::uint16_t* codes, std::byte* mantissas) {
  bool overflowed = false;
  const std::uint32_t block_elements = layout.block_elements();
  const auto limit = static_cast<std::uint64_t>(layout.mantissa_limit());
  for (std::uint32_t first = 0, block = 0; first < count; first += block_elements, ++block) {
    const std::uint32_t end = std::min(count, first + block_elements);
    std::uint64_t largest = 0;
    if (lane_codes[block] != 0) {
      for (std::uint32_t i = first; i < end; ++i) {
        largest = std::max(largest, magnitude(load<Lane>(lanes, i)));
      }
    }
    if (largest == 0) {
      codes[block] = 0;
      for (std::uint32_t i = first; i < end; ++i) store<Int>(mantissas, i, 0);
      continue;
    }
    const std::int32_t lane_code = lane_codes[block];
    const std::int32_t code = result_code(largest, lane_code, layout);
    codes[block] = static_cast<std::uint16_t>(code);
    for (std::uint32_t i = first; i < end; ++i) {
      const std::int64_t lane = load<Lane>(lanes, i);
      const std::uint64_t rounded = round_shift(magnitude(lane), code - lane_code);
      auto mantissa = static_cast<std::int64_t>(rounded);
      if (rounded > limit) {  // only at the last code: the sum exceeds every float
        mantissa = layout.code_plus_infinity();
        overflowed = true;
      }
      store<Int>(mantissas, i, static_cast<Int>(lane < 0 ? -mantissa : mantissa));
    }
  }
  return overflowed;
}

constexpr Arithmetic kScalar = {
    .sum = {combine<std::int8_t, Sum>, combine<std::int16_t, Sum>, combine<std::int32_t, Sum>,
            combine<std::int64_t, Sum>},
    .min = {combine<std::int8_t, Min>, combine<std::int16_t, Min>, combine<std::int32_t, Min>,
            combine<std::int64_t, Min>},
    .max = {combine<std::int8_t, Max>, combine<std::int16_t, Max>, combine<std::int32_t, Max>,
            combine<std::int64_t, Max>},
    .bit_or = {combine<std::int8_t, BitOr>, combine<std::int16_t, BitOr>,
               combine<std::int32_t, BitOr>, combine<std::int64_t, BitOr>},
    .plan = plan,
    .accumulate = {{accumulate<std::int16_t, std::int8_t>},
                   {accumulate<std::int32_t, std::int8_t>, accumulate<std::int32_t, std::int16_t>},
                   {accumulate<std::int64_t, std::int8_t>, accumulate<std::int64_t, std::int16_t>,
                    accumulate<std::int64_t, std::int32_t>,
                    accumulate<std::int64_t, std::int64_t>}},
    .encode = {{encode<std::int16_t, std::int8_t>},
               {encode<std::int32_t, std::int8_t>, encode<std::int32_t, std::int16_t>},
               {encode<std::int64_t, std::int8_t>, encode<std::int64_t, std::int16_t>,
                encode<std::int64_t, std::int32_t>}},
    .exact = {&kScalarExact[0], &kScalarExact[1], &kScalarExact[2], &kScalarExact[3]},
    .widen = {widen<std::int16_t, std::int32_t>, widen<std::int32_t, std::int64_t>},
};

}  // namespace

const Arithmetic& scalar_arithmetic() { return kScalar; }

}  // namespace infold::core
