// SPDX-License-Identifier: Apache-2.0
//
// Float types and mantissas as vectors, once per instruction set: loads, stores and conversions.
// f16, bf16 and f32 are computed in f32, and f64 in f64. In every instruction set, conversions are
// exact or round to nearest, ties to even.
#if defined(INFOLD_NUMERIC_VECTOR_FLOATS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_FLOATS_INL_H_
#undef INFOLD_NUMERIC_VECTOR_FLOATS_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_FLOATS_INL_H_
#endif

#include <bit>
#include <type_traits>

#include <hwy/highway.h>

#include "numeric/floats.h"

// Blocks are cut into vectors at compile time, so the length of vectors must be known then. Vectors
// that Highway emulates are not faster than the scalar loops.
#undef INFOLD_VECTOR_BLOCKS
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE
#define INFOLD_VECTOR_BLOCKS 0
#else
#define INFOLD_VECTOR_BLOCKS 1
#endif

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if INFOLD_VECTOR_BLOCKS

namespace hn = hwy::HWY_NAMESPACE;

// g++ rebuilds an integer constant for each use, on the one port that shuffles need. The asm hides
// the value, so that g++ keeps the vector. Call this outside the loop.
template <typename D>
HWY_INLINE hn::VFromD<D> kept_constant(D d, hn::TFromD<D> value) {
  asm("" : "+r"(value));
  return hn::Set(d, value);
}

// If instructions can take operands from memory, g++ loads a value again for every use. Elements in
// datagrams straddle cache lines, so each such load costs two. The asm keeps the value in a
// register.
template <typename V>
HWY_INLINE V loaded_once(V value) {
#if HWY_ARCH_X86
  asm("" : "+v"(value.raw));
#endif
  return value;
}

// The type in which a format is computed.
template <typename Format>
using Wide = std::conditional_t<Format::kWidth == 64, double, float>;
template <typename Format>
using WideFormat = std::conditional_t<Format::kWidth == 64, F64, F32>;

// `d` is a tag of Wide<Format> lanes; `at` need not be aligned.
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

// Returns the upper half of each rounded f32 in the lower half of its lane. Requires: not NaN.
template <typename V>
HWY_INLINE V round_to_bf16(V bits) {
  const hn::DFromV<V> du;
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
  return hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFF))));
}

#if HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
// Highway truncates if there is no conversion instruction, so this rounds. Returns half-precision
// bits in the lower half of each lane. Requires: not NaN.
template <typename D>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<D>> round_to_f16(D d, hn::VFromD<D> value) {
  const hn::RebindToUnsigned<D> du;
  const auto magnitude = hn::BitCast(du, hn::Abs(value));
  // Normal results: drop 13 bits and reduce the bias by 112. Values from 65520 on become infinity.
  const auto odd = hn::And(hn::ShiftRight<13>(magnitude), hn::Set(du, 1));
  const auto rebias = hn::Set(du, 0xFFFU - (112U << 23));
  const auto normal = hn::ShiftRight<13>(hn::Add(magnitude, hn::Add(odd, rebias)));
  // Subnormal results: adding 0.5 makes the last place that of subnormals, 2^-24.
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

// Stores finite and infinite values. Requires: no subnormal f32; with kExact, values that the
// format holds.
template <typename Format, bool kExact = false, typename D>
HWY_INLINE void store_floats([[maybe_unused]] D d, hn::VFromD<D> value, typename Format::Bits* at) {
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
    const auto bits = hn::BitCast(du, value);
    const auto upper = kExact ? hn::ShiftRight<16>(bits) : round_to_bf16(bits);
    hn::StoreU(hn::TruncateTo(du16, upper), du16, at);
  } else {
    hn::StoreU(hn::BitCast(du, value), du, at);
  }
}

// Rounds to the nearest integer, ties to even. Requires: the result fits 32 bits. Highway's own
// NearestInt takes three more instructions because of values that do not fit.
template <typename D>
HWY_INLINE hn::VFromD<hn::RebindToSigned<D>> to_integers(D, hn::VFromD<D> value) {
#if HWY_ARCH_X86
  using Result = hn::VFromD<hn::RebindToSigned<D>>;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(value.raw) == 64) return Result{_mm512_cvtps_epi32(value.raw)};
#endif
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(value.raw) == 32) return Result{_mm256_cvtps_epi32(value.raw)};
#endif
  if constexpr (sizeof(value.raw) == 16) return Result{_mm_cvtps_epi32(value.raw)};
#else
  return hn::NearestInt(value);
#endif
}

// Returns value * scale in the low bits of each lane, rounded to nearest, ties to even. Adding 1.5
// * 2^p, which is far larger, leaves an integer in the low bits. The product is exact, so a fused
// multiplication gives the same result. Requires: below 2^22 for f32.
template <typename D>
HWY_INLINE hn::VFromD<hn::RebindToUnsigned<D>> scaled_integers(D d, hn::VFromD<D> value,
                                                               hn::VFromD<D> scale) {
  using Float = hn::TFromD<D>;
  const auto shifter = hn::Set(d, static_cast<Float>(sizeof(Float) == 4 ? 0x1.8p23 : 0x1.8p52));
  return hn::BitCast(hn::RebindToUnsigned<D>(), hn::MulAdd(value, scale, shifter));
}

// Stores value * scale as integers. Requires: within the mantissa's range.
template <typename Mantissa, typename D>
HWY_INLINE void store_mantissas(D d, hn::VFromD<D> value, hn::VFromD<D> scale, Mantissa* at) {
  using Unsigned = std::make_unsigned_t<Mantissa>;
  if constexpr (sizeof(hn::TFromD<D>) == 4 && sizeof(Mantissa) == 4) {
    const hn::RebindToSigned<D> di;
    hn::StoreU(to_integers(d, hn::Mul(value, scale)), di, at);
  } else {
    const hn::Rebind<Unsigned, D> narrow;
    const auto low = hn::TruncateTo(narrow, scaled_integers(d, value, scale));
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

#if HWY_TARGET <= HWY_AVX3
// Swaps the halves of the 32-bit lanes of `swapped`. Then returns `kept`, with the bytes of the
// mask taken from `swapped`.
HWY_INLINE __m512i swap_halves(__m512i kept, __mmask64 mask, __m512i swapped) {
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2));
  return _mm512_mask_shuffle_epi8(kept, mask, swapped, order);
}
#endif

// Return the lower (upper) halves of the 32-bit lanes of `even` and `odd`, side by side. On some
// processors one instruction moves the halves of one vector and writes them over those of the
// other.
template <typename V>
HWY_INLINE V lower_halves(V even, V odd) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(even.raw) == 64) {
    return V{swap_halves(even.raw, 0xCCCCCCCCCCCCCCCC, odd.raw)};
  }
#endif
  const hn::Repartition<std::uint16_t, hn::DFromV<V>> d16;
  const auto upper = hn::BitCast(d16, hn::ShiftLeft<16>(odd));
  return hn::BitCast(hn::DFromV<V>(), hn::OddEven(upper, hn::BitCast(d16, even)));
}

// Requires: the lower halves of `odd` are 0.
template <typename V>
HWY_INLINE V upper_halves(V even, V odd) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(even.raw) == 64) {
    return V{swap_halves(odd.raw, 0x3333333333333333, even.raw)};
  }
#endif
  return hn::Or(hn::ShiftRight<16>(even), odd);
}

// Stores two vectors of `from` * scale as 16-bit integers, if one instruction can put the halves of
// lanes into their places. Otherwise returns false and stores nothing.
template <typename Format, typename D>
HWY_INLINE bool store_two(D d, const typename Format::Bits* from, hn::VFromD<D> scale,
                          std::int16_t* to) {
#if HWY_TARGET <= HWY_AVX3
  const std::size_t lanes = hn::Lanes(d);
  const hn::Repartition<std::uint16_t, D> d16;
  const auto lower = scaled_integers(d, load_floats<Format>(d, from), scale);
  const auto upper = scaled_integers(d, load_floats<Format>(d, from + lanes), scale);
  alignas(64) static constexpr std::uint16_t kOrder[] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20,
                                                         22, 24, 26, 28, 30, 1,  3,  5,  7,  9,  11,
                                                         13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  const auto order = hn::Load(d16, kOrder);
  const auto both = _mm512_permutexvar_epi16(order.raw, lower_halves(lower, upper).raw);
  hn::StoreU(hn::VFromD<decltype(d16)>{both}, d16, reinterpret_cast<std::uint16_t*>(to));
  return true;
#else
  static_cast<void>(d), static_cast<void>(from), static_cast<void>(scale), static_cast<void>(to);
  return false;
#endif
}

// Converts bf16 to mantissas of 16 bits, with elements at even and odd places handled separately.
// They are the halves of 32-bit lanes, so that no element has to cross lanes to put the integers in
// order.
template <typename D>
HWY_INLINE hn::VFromD<D> encode_bf16_pairs(D d16, const std::uint16_t* from, float inverse_unit) {
  const hn::RepartitionToWide<D> du;
  const hn::RebindToFloat<decltype(du)> d;
  const auto scale = hn::Set(d, inverse_unit);
  const auto both = loaded_once(hn::BitCast(du, hn::LoadU(d16, from)));
  const auto even = hn::BitCast(d, hn::ShiftLeft<16>(both));
  const auto odd = hn::BitCast(d, hn::And(both, hn::Set(du, 0xFFFF0000)));
  return hn::BitCast(d16,
                     lower_halves(scaled_integers(d, even, scale), scaled_integers(d, odd, scale)));
}

// Stores two vectors of 16-bit integers as bytes. Requires: within the range of bytes.
template <typename D>
HWY_INLINE void store_bytes([[maybe_unused]] D d16, hn::VFromD<D> lower, hn::VFromD<D> upper,
                            std::int8_t* to) {
#if HWY_ARCH_X86
  // The instruction packs 16 bytes of each vector at a time, so groups of eight bytes must then be
  // put in order.
  const hn::Repartition<std::int8_t, D> d8;
  using Bytes = hn::VFromD<decltype(d8)>;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(lower.raw) == 64) {
    const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    const __m512i mixed = _mm512_packs_epi16(lower.raw, upper.raw);
    return hn::StoreU(Bytes{_mm512_permutexvar_epi64(order, mixed)}, d8, to);
  }
#endif
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(lower.raw) == 32) {
    const __m256i mixed = _mm256_packs_epi16(lower.raw, upper.raw);
    return hn::StoreU(Bytes{_mm256_permute4x64_epi64(mixed, 0xD8)}, d8, to);
  }
#endif
  if constexpr (sizeof(lower.raw) == 16) {
    return hn::StoreU(Bytes{_mm_packs_epi16(lower.raw, upper.raw)}, d8, to);
  }
#else
  const hn::Rebind<std::uint8_t, D> narrow;
  auto* bytes = reinterpret_cast<std::uint8_t*>(to);
  hn::StoreU(hn::TruncateTo(narrow, lower), narrow, bytes);
  hn::StoreU(hn::TruncateTo(narrow, upper), narrow, bytes + hn::Lanes(d16));
#endif
}

// Rounds to bf16 without integer steps. Let x be a mantissa of at most 16 bits times the unit. Then
// x * 65536 + x, rounded to the 24 bits of f32, is exactly x * 65536 plus x rounded to 8 bits. Ties
// are decided by the right last bit, and the difference is exact again. A mantissa in the upper
// half of its lane is already 65536 times too large. Requires: x * 65537 is finite, and both_units
// is unit * kBothUnits.
constexpr float kBothUnits = 1 + 0x1p-16f;
template <std::uint32_t kCount>
HWY_INLINE void decode_bf16_pairs(const std::int16_t* from, float unit, float both_units,
                                  std::uint16_t* to) {
  const hn::CappedTag<std::int16_t, kCount> d16;
  const hn::RepartitionToWide<decltype(d16)> di;
  const hn::RebindToUnsigned<decltype(di)> du;
  const hn::RebindToFloat<decltype(di)> d;
  const auto scale = hn::Set(d, unit);
  const auto both_scales = hn::Set(d, both_units);
  const auto rounded = [&](hn::VFromD<decltype(di)> mantissas) HWY_ATTR {
    const auto value = hn::ConvertTo(d, mantissas);
    return hn::BitCast(du, hn::NegMulAdd(value, scale, hn::Mul(value, both_scales)));
  };
  for (std::uint32_t i = 0; i < kCount; i += static_cast<std::uint32_t>(hn::Lanes(d16))) {
    const auto both = loaded_once(hn::BitCast(di, hn::LoadU(d16, from + i)));
    const auto even = rounded(hn::ShiftLeft<16>(both));
    const auto odd = rounded(hn::And(both, hn::Set(di, INT32_C(-0x10000))));
    hn::StoreU(hn::BitCast(d16, upper_halves(even, odd)), d16,
               reinterpret_cast<std::int16_t*>(to + i));
  }
}

#endif  // INFOLD_VECTOR_BLOCKS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif
