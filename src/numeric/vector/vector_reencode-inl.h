// SPDX-License-Identifier: Apache-2.0
//
// Converts an aggregator's lanes to the mantissas of a result in vectors, once per instruction set.
// core/aggregator/arithmetic.cc defines the results, and its loops handle partial blocks and blocks
// whose code is at either end.
#if defined(INFOLD_NUMERIC_VECTOR_REENCODE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_REENCODE_INL_H_
#undef INFOLD_NUMERIC_VECTOR_REENCODE_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_REENCODE_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <hwy/highway.h>

#include "core/aggregator/arithmetic.h"
#include "numeric/vector/vector_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// The most negative lane has no positive counterpart, but read as unsigned it is its own magnitude.
template <typename Lane>
HWY_INLINE hn::VFromD<Magnitudes<Lane>> magnitude(hn::VFromD<Lanes<Lane>> lane) {
  if constexpr (sizeof(Lane) < 8 || HWY_TARGET <= HWY_AVX3) {
    return hn::BitCast(Magnitudes<Lane>(), hn::Abs(lane));
  } else {
    const auto sign = hn::BroadcastSignBit(lane);
    return hn::BitCast(Magnitudes<Lane>(), hn::Sub(hn::Xor(lane, sign), sign));
  }
}

template <typename Lane>
HWY_INLINE std::uint64_t largest_magnitude(const Lane* lanes, std::uint32_t count) {
  const Lanes<Lane> d;
  auto largest = hn::Zero(Magnitudes<Lane>());
  for (std::uint32_t i = 0; i < count; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    largest = hn::Max(largest, magnitude<Lane>(hn::LoadU(d, lanes + i)));
  }
  return largest_lane(Magnitudes<Lane>(), largest);
}

template <typename Lane, typename Int, typename V>
HWY_INLINE void store_low(V value, Int* at) {
  using Unsigned = std::make_unsigned_t<Int>;
  const hn::Rebind<Unsigned, Magnitudes<Lane>> narrow;
  const auto low = hn::TruncateTo(narrow, hn::BitCast(Magnitudes<Lane>(), value));
  hn::StoreU(low, narrow, reinterpret_cast<Unsigned*>(at));
}

// Divides lanes below 2^51 by 2^shift in doubles. Near 1.5 * 2^52 the last place of a double is
// one, so adding and subtracting that number converts between integers and doubles. The conversion
// to integers rounds to nearest, ties to even.
template <typename Int>
HWY_INLINE void scale_small_block(const std::int64_t* HWY_RESTRICT lanes, std::uint32_t count,
                                  std::int32_t shift, Int* HWY_RESTRICT mantissas) {
  const Lanes<std::int64_t> d;
  const hn::ScalableTag<double> df;
  const auto one = hn::Set(df, 0x1.8p52);
  const auto scale =
      hn::Set(df, std::bit_cast<double>(static_cast<std::uint64_t>(1023 - shift) << 52));
  for (std::uint32_t i = 0; i < count; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const auto lane = hn::LoadU(d, lanes + i);
    const auto value = hn::Sub(hn::BitCast(df, hn::Add(lane, hn::BitCast(d, one))), one);
    store_low<std::int64_t>(hn::MulAdd(value, scale, one), mantissas + i);  // the product is exact
  }
}

// Does the same as scale_small_block() for lanes of any size, with integer operations. A negative
// shift multiplies.
template <typename Lane, typename Int>
HWY_INLINE void scale_block(const Lane* HWY_RESTRICT lanes, std::uint32_t count, std::int32_t shift,
                            Int* HWY_RESTRICT mantissas) {
  using Unsigned = std::make_unsigned_t<Lane>;
  const Lanes<Lane> d;
  const Magnitudes<Lane> du;
  const auto one = hn::Set(du, 1);
  const auto below_half =
      hn::Set(du, static_cast<Unsigned>(shift > 0 ? (std::uint64_t{1} << (shift - 1)) - 1 : 0));
  const Shift down(du, static_cast<std::uint32_t>(std::max(shift, 0)));
  const Shift up(du, static_cast<std::uint32_t>(std::max(-shift, 0)));
  for (std::uint32_t i = 0; i < count; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const auto lane = hn::LoadU(d, lanes + i);
    auto value = magnitude<Lane>(lane);
    if (shift > 0) {
      const auto odd = hn::And(down.right(value), one);
      value = down.right(hn::Add(hn::Add(value, below_half), odd));
    } else {
      value = up.left(value);
    }
    const auto rounded = hn::BitCast(d, value);
    store_low<Lane>(hn::IfThenElse(hn::Lt(lane, hn::Zero(d)), hn::Neg(rounded), rounded),
                    mantissas + i);
  }
}

// Encodes one whole block. Returns false and writes nothing if its code is not in the plain range.
template <typename Lane, typename Int>
HWY_INLINE bool encode_block(const Lane* lanes, std::uint32_t count, std::int32_t lane_code,
                             std::int32_t code_max, std::uint16_t* code, Int* mantissas) {
  constexpr core::ElementLayout kLayout = {
      static_cast<core::WireFormat>(INFOLD_FORMAT_BFP8 + kIndex<Int>), core::DataType::f32};
  constexpr auto kLimit = static_cast<std::uint64_t>(kLayout.mantissa_limit());
  const std::uint64_t largest = lane_code == 0 ? 0 : largest_magnitude(lanes, count);
  if (largest == 0) {
    *code = 0;
    std::memset(mantissas, 0, count * sizeof(Int));
    return true;
  }
  std::int32_t shift =
      static_cast<std::int32_t>(std::bit_width(largest)) - 1 - kLayout.mantissa_top_bit();
  if (shift >= 0) {
    // Above this value the largest magnitude rounds past the limit. A tie rounds to the limit,
    // which is even.
    const std::uint64_t highest = (2 * kLimit + 1) << shift >> 1;
    shift += largest > highest ? 1 : 0;
  }
  const std::int32_t result = lane_code + shift;
  if (result < 1 || result >= code_max) return false;
  *code = static_cast<std::uint16_t>(result);
  if constexpr (sizeof(Lane) == 8) {
    if (largest < std::uint64_t{1} << 51) {
      scale_small_block(lanes, count, shift, mantissas);
      return true;
    }
  }
  scale_block(lanes, count, shift, mantissas);
  return true;
}

template <typename Lane, typename Int>
bool encode(const std::byte* lanes, std::uint32_t count, core::ElementLayout layout,
            const std::uint16_t* lane_codes, std::uint16_t* codes, std::byte* mantissas) {
  bool overflowed = false;
  const std::uint32_t block_elements = layout.block_elements();
  const std::int32_t code_max = layout.exponent_code_max();
  for (std::uint32_t first = 0; first < count; first += block_elements, ++lane_codes, ++codes) {
    const std::uint32_t size = std::min(block_elements, count - first);
    const auto* source = reinterpret_cast<const Lane*>(lanes) + first;
    auto* target = reinterpret_cast<Int*>(mantissas) + first;
    bool plain = false;
    // A constant length, which the compiler can use.
    if (size == INFOLD_BLOCK_ELEMENTS && size == block_elements) {
      plain = encode_block(source, INFOLD_BLOCK_ELEMENTS, *lane_codes, code_max, codes, target);
    } else if (size == block_elements) {
      plain = encode_block(source, size, *lane_codes, code_max, codes, target);
    }
    if (plain) continue;
    overflowed |= core::scalar_arithmetic().encode[kLaneIndex<Lane>][kIndex<Int>](
        reinterpret_cast<const std::byte*>(source), size, layout, lane_codes, codes,
        reinterpret_cast<std::byte*>(target));
  }
  return overflowed;
}

#endif  // HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
