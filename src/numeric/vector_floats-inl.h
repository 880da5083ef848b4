// SPDX-License-Identifier: Apache-2.0
//
// Float types and mantissas as vectors, once per instruction set: loads, stores, largest
// magnitudes, conversions. f16, bf16 and f32 are computed in f32, f64 in f64. Conversions are
// exact or round to nearest, ties to even, whatever the instruction set.
#if defined(INFOLD_NUMERIC_VECTOR_FLOATS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_FLOATS_INL_H_
#undef INFOLD_NUMERIC_VECTOR_FLOATS_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_FLOATS_INL_H_
#endif

#include <bit>
#include <type_traits>

#include <hwy/highway.h>

#include "numeric/float_bits.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The type a format is computed in.
template <typename Format>
using Wide = std::conditional_t<Format::kWidth == 64, double, float>;
template <typename Format>
using WideFormat = std::conditional_t<Format::kWidth == 64, F64, F32>;

// d is a tag of Wide<Format> lanes; `at` need not be aligned.
template <typename Format, typename D>
HWY_INLINE hn::VFromD<D> load_floats(D d, const typename Format::Bits* at) {
  if constexpr (std::is_same_v<Format, F16>) {
    const hn::Rebind<hwy::float16_t, D> d16;
    const hn::Rebind<std::uint16_t, D> du16;
    return hn::PromoteTo(d, hn::BitCast(d16, hn::LoadU(du16, at)));
  } else if constexpr (std::is_same_v<Format, Bf16>) {
    const hn::Rebind<std::uint32_t, D> du32;
    const hn::Rebind<std::uint16_t, D> du16;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du32, hn::LoadU(du16, at))));
  } else {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(d, hn::LoadU(du, at));
  }
}

// The upper half of each f32 after rounding, in the lower half of the lane. Not for NaN.
template <typename V>
HWY_INLINE V round_to_bf16(V bits) {
  const hn::DFromV<V> du;
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  return hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF))));
}

#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
// Without a conversion instruction Highway truncates. Half-precision bits in the lower half of
// each lane, rounded; not for NaN.
template <typename D>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<D>> round_to_f16(D d, hn::VFromD<D> value) {
  const hn::RebindToUnsigned<D> du;
  const auto magnitude = hn::BitCast(du, hn::Abs(value));
  // Normal results: drop 13 bits, and a bias that is 112 larger; infinity from 65520.
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
  const auto rebias = hn::Set(du, 0xFFFU - (112U << 23));
  const auto normal = hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(odd, rebias)));
  // Subnormal ones: the last place of numbers from 0.5 is that of subnormals, 2^-24.
  const auto half = hn::Set(d, 0.5f);
  const auto aligned = hn::BitCast(du, hn::Add(hn::BitCast(d, magnitude), half));
  const auto subnormal = hn::Sub(aligned, hn::BitCast(du, half));
  const auto is_normal = hn::Ge(hn::BitCast(d, magnitude), hn::Set(d, 0x1p-14f));
  const auto rounded = hn::IfThenElse(hn::RebindMask(du, is_normal),
                                      hn::Min(normal, hn::Set(du, F16::kInfinity)), subnormal);
  const auto sign = hn::And(hn::ShiftRight<16>(hn::BitCast(du, value)), hn::Set(du, F16::kSign));
  return hn::Or(rounded, sign);
}
#endif

// Stores finite and infinite values, none of them a subnormal f32.
template <typename Format, typename D>
HWY_INLINE void store_floats(D d, hn::VFromD<D> value, typename Format::Bits* at) {
  const hn::RebindToUnsigned<D> du;
  if constexpr (std::is_same_v<Format, F16>) {
    const hn::Rebind<std::uint16_t, D> du16;
#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
    hn::StoreU(hn::TruncateTo(du16, round_to_f16(d, value)), du16, at);
#else
    const hn::Rebind<hwy::float16_t, D> d16;
    hn::StoreU(hn::BitCast(du16, hn::DemoteTo(d16, value)), du16, at);
#endif
  } else if constexpr (std::is_same_v<Format, Bf16>) {
    const hn::Rebind<std::uint16_t, D> du16;
    hn::StoreU(hn::TruncateTo(du16, round_to_bf16(hn::BitCast(du, value))), du16, at);
  } else {
    hn::StoreU(hn::BitCast(du, value), du, at);
  }
}

// value * scale as integers. Requires: within the mantissa's range.
template <typename Mantissa, typename D>
HWY_INLINE void store_mantissas(D d, hn::VFromD<D> scaled, Mantissa* at) {
  using Unsigned = std::make_unsigned_t<Mantissa>;
  const hn::RebindToUnsigned<D> du;
  if constexpr (sizeof(hn::TFromD<D>) == 4 && sizeof(Mantissa) == 4) {
    const hn::RebindToSigned<D> di;
    hn::StoreU(hn::NearestInt(scaled), di, at);
  } else {
    // Added to a value far smaller, 1.5 * 2^p leaves it as an integer in the low bits.
    const hn::Rebind<Unsigned, D> narrow;
    using Float = hn::TFromD<D>;
    const auto shifter = hn::Set(d, static_cast<Float>(sizeof(Float) == 4 ? 0x1.8p23 : 0x1.8p52));
    const auto low = hn::TruncateTo(narrow, hn::BitCast(du, hn::Add(scaled, shifter)));
    hn::StoreU(low, narrow, reinterpret_cast<Unsigned*>(at));
  }
}

template <typename Mantissa, typename D>
HWY_INLINE hn::VFromD<D> load_mantissas(D d, const Mantissa* at) {
  const hn::Rebind<std::int32_t, D> di32;
  const hn::Rebind<Mantissa, D> narrow;
  const auto loaded = hn::LoadU(narrow, at);
  if constexpr (sizeof(hn::TFromD<D>) == 4 && sizeof(Mantissa) == 4) {
    return hn::ConvertTo(d, loaded);
  } else if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::ConvertTo(d, hn::PromoteTo(di32, loaded));
  } else if constexpr (sizeof(Mantissa) == 4) {
    return hn::PromoteTo(d, loaded);
  } else {
    return hn::PromoteTo(d, hn::PromoteTo(di32, loaded));
  }
}

// The bits of the largest magnitude among kCount elements; NaN is larger than anything.
template <typename Format, std::uint32_t kCount>
HWY_INLINE typename Format::Bits largest_bits(const typename Format::Bits* at) {
  const hn::CappedTag<typename Format::Bits, kCount> d;
  const auto mask = hn::Set(d, static_cast<typename Format::Bits>(~Format::kSign));
  auto largest = hn::And(hn::LoadU(d, at), mask);
  for (std::uint32_t i = static_cast<std::uint32_t>(hn::Lanes(d)); i < kCount;
       i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    largest = hn::Max(largest, hn::And(hn::LoadU(d, at + i), mask));
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

// A finite magnitude's bits in the format it is computed in; a special stays a special.
template <typename Format>
HWY_INLINE typename WideFormat<Format>::Bits wide_bits(typename Format::Bits magnitude) {
  if constexpr (std::is_same_v<Format, F16>) {
    if (magnitude >= F16::kInfinity) return F32::kInfinity;
    if (magnitude < 0x400) {
      return std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
    }
    return (static_cast<std::uint32_t>(magnitude) << 13) + (112U << 23);
  } else if constexpr (std::is_same_v<Format, Bf16>) {
    return static_cast<std::uint32_t>(magnitude) << 16;
  } else {
    return magnitude;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif
