// SPDX-License-Identifier: Apache-2.0
//
// The loops of digits (numeric/adders/digits.h) in vectors, with integer operations alone.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/vector/vector_digits.cc"
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "numeric/adders/digits.h"
#include "numeric/scalar/scalar_codecs.h"
#include "numeric/vector/vector_floats-inl.h"
#include "numeric/vector/vector_sets.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if !INFOLD_VECTOR_BLOCKS

const DigitLoops* choose_digits() { return scalar_digits(); }

#else

// Returns the scalar loops for the elements after the last whole vector.
template <typename Format>
const DigitLoops& scalar_loops() {
  return scalar_digits()[static_cast<std::size_t>(Format::kDtype)];
}

// f16 and bf16 are widened to 32 bits, with their bits in the lower half.
template <typename Format>
using Lane = std::conditional_t<Format::kWidth == 64, std::int64_t, std::int32_t>;
template <typename Format>
using Tag = hn::ScalableTag<Lane<Format>>;
template <typename Format>
using Lanes = hn::Vec<Tag<Format>>;

template <typename Format>
HWY_INLINE Lanes<Format> load_bits(const typename Format::Bits* at) {
  const Tag<Format> d;
  const hn::RebindToUnsigned<Tag<Format>> du;
  if constexpr (Format::kWidth == 16) {
    const hn::Rebind<std::uint16_t, Tag<Format>> narrow;
    return hn::BitCast(d, hn::PromoteTo(du, hn::LoadU(narrow, at)));
  } else {
    return hn::BitCast(d, hn::LoadU(du, at));
  }
}

template <typename Format>
HWY_INLINE Lanes<Format> constant(std::uint64_t value) {
  return hn::Set(Tag<Format>(), static_cast<Lane<Format>>(value));
}

// A number's integer is significand << place.
template <typename Format>
struct Parts {
  Lanes<Format> significand;
  Lanes<Format> place;
};
template <typename Format>
HWY_INLINE Parts<Format> parts_of(Lanes<Format> magnitude) {
  const auto one = constant<Format>(1);
  const auto field = hn::ShiftRight<Format::kFractionBits>(magnitude);
  const auto place = hn::Sub(hn::Max(field, one), one);
  return {hn::Sub(magnitude, hn::ShiftLeft<Format::kFractionBits>(place)), place};
}

// Returns the index of the only set bit, or less than 0 if no bit is set.
template <typename Format>
HWY_INLINE Lanes<Format> index_of_bit(Lanes<Format> bit) {
  const Tag<Format> d;
  const hn::RebindToFloat<Tag<Format>> df;
  using Wide = WideFormat<Format>;
  const auto field = hn::ShiftRight<Wide::kFractionBits>(hn::BitCast(d, hn::ConvertTo(df, bit)));
  return hn::Sub(field, constant<Format>(Wide::kBias));
}

template <typename Format>
HWY_NOINLINE DigitRange find_range(const std::byte* x, std::uint32_t count) {
  const Tag<Format> d;
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto* const bits = reinterpret_cast<const typename Format::Bits*>(x);
  const auto sign_mask = constant<Format>(Format::kSign);
  const auto infinity = constant<Format>(Format::kInfinity);
  const auto none = constant<Format>(0x7FFFFFFF);
  auto largest_of_all = hn::Zero(d);
  auto largest = hn::Zero(d);
  auto low = none;
  std::uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto magnitude = hn::AndNot(sign_mask, load_bits<Format>(bits + i));
    largest_of_all = hn::Max(largest_of_all, magnitude);
    const auto finite = hn::IfThenElseZero(hn::Lt(magnitude, infinity), magnitude);
    largest = hn::Max(largest, finite);
    const Parts<Format> parts = parts_of<Format>(finite);
    const auto lowest = hn::And(parts.significand, hn::Neg(parts.significand));
    const auto place = hn::Add(parts.place, index_of_bit<Format>(lowest));
    low = hn::Min(low, hn::IfThenElse(hn::Eq(finite, hn::Zero(d)), none, place));
  }
  const DigitLoops& scalar = scalar_loops<Format>();
  DigitRange range;
  if (i > 0) {
    const auto most = static_cast<typename Format::Bits>(hn::GetLane(hn::MaxOfLanes(d, largest)));
    // The largest number shows where the highest bit is, and the loop above has found the lowest.
    range = scalar.find_range(reinterpret_cast<const std::byte*>(&most), 1);
    if (range.top != 0) range.low = static_cast<std::uint32_t>(hn::GetLane(hn::MinOfLanes(d, low)));
    range.special = !hn::AllTrue(d, hn::Lt(largest_of_all, infinity));
  }
  return joined(range, scalar.find_range(x + i * sizeof(*bits), count - i));
}

template <typename Format>
HWY_NOINLINE void write(const std::byte* x, std::uint32_t count, std::uint32_t low,
                        std::uint32_t bits, std::byte* digits) {
  const Tag<Format> d;
  const hn::RebindToUnsigned<Tag<Format>> du;
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto* const from = reinterpret_cast<const typename Format::Bits*>(x);
  auto* const to = reinterpret_cast<std::uint32_t*>(digits);
  constexpr int kLaneBits = 8 * sizeof(Lane<Format>);
  const auto sign_mask = constant<Format>(Format::kSign);
  const auto infinity = constant<Format>(Format::kInfinity);
  const auto first = constant<Format>(low);
  const auto zero = hn::Zero(d);
  const auto left_most = constant<Format>(31);
  const auto right_most = constant<Format>(kLaneBits - 1);
  const auto mask = hn::Set(du, (std::uint64_t{1} << bits) - 1);
  std::uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto element = load_bits<Format>(from + i);
    const auto magnitude = hn::AndNot(sign_mask, element);
    const auto finite = hn::IfThenElseZero(hn::Lt(magnitude, infinity), magnitude);
    const Parts<Format> parts = parts_of<Format>(finite);
    const auto shift = hn::Sub(parts.place, first);
    // One of the two shifts is 0.
    const auto left = hn::BitCast(du, hn::Min(hn::Max(shift, zero), left_most));
    const auto right = hn::BitCast(du, hn::Min(hn::Max(hn::Neg(shift), zero), right_most));
    const auto moved = hn::Shr(hn::Shl(hn::BitCast(du, parts.significand), left), right);
    const auto digit = hn::BitCast(d, hn::And(moved, mask));
    const auto sign = hn::BroadcastSignBit(hn::ShiftLeft<kLaneBits - Format::kWidth>(element));
    const auto result = hn::BitCast(du, hn::Sub(hn::Xor(digit, sign), sign));
    if constexpr (Format::kWidth == 64) {
      const hn::Rebind<std::uint32_t, decltype(du)> narrow;
      hn::StoreU(hn::TruncateTo(narrow, result), narrow, to + i);
    } else {
      hn::StoreU(result, du, to + i);
    }
  }
  scalar_loops<Format>().write(x + i * sizeof(*from), count - i, low, bits,
                               digits + i * sizeof(std::int32_t));
}

template <typename Format>
constexpr DigitLoops kLoops = {find_range<Format>, write<Format>};

const DigitLoops* choose_digits() {
  static constexpr DigitLoops kByType[] = {kLoops<F32>, kLoops<F16>, kLoops<Bf16>, kLoops<F64>};
  return kByType;
}

#endif  // INFOLD_VECTOR_BLOCKS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace infold::numeric {
HWY_EXPORT(choose_digits);
const DigitLoops* chosen_digits() { return HWY_DYNAMIC_DISPATCH(choose_digits)(); }
}  // namespace infold::numeric
#endif
