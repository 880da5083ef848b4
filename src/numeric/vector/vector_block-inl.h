// SPDX-License-Identifier: Apache-2.0
//
// One plain block of block floats in vectors, once per instruction set: the test for plain blocks,
// and the loops over one block. A block is plain if its unit and its values are normal numbers. A
// multiplication by a power of two is then exact, so that the conversion is the only rounding. A
// subnormal element rounds to zero whether or not the processor flushes it.
#if defined(INFOLD_NUMERIC_VECTOR_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_BLOCK_INL_H_
#undef INFOLD_NUMERIC_VECTOR_BLOCK_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_BLOCK_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <type_traits>

#include <hwy/highway.h>

#include "numeric/block_float.h"
#include "numeric/vector/vector_floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if INFOLD_VECTOR_BLOCKS

// Returns 2^exponent. Requires: the result is a normal number.
template <typename Format>
HWY_INLINE auto power_of_two(std::int32_t exponent) {
  using Bits = typename Format::Bits;
  return std::bit_cast<Wide<Format>>(
      static_cast<Bits>(static_cast<Bits>(exponent + Format::kBias) << Format::kFractionBits));
}

template <typename Format, typename Mantissa>
struct Block {
  static constexpr core::ElementLayout kLayout = block_layout<Format, Mantissa>();
  static constexpr std::uint32_t kElements = kLayout.block_elements();
  using W = WideFormat<Format>;
  using Bits = typename Format::Bits;

  // Elements at even and odd places are handled separately, see encode_bf16_pairs. Decoding does
  // this only for 16-bit mantissas, see decode_bf16_pairs.
  static constexpr bool kPairs = std::is_same_v<Format, Bf16> && sizeof(Mantissa) <= 2;
  static constexpr bool kDecodePairs = kPairs && sizeof(Mantissa) == 2;

  // True if every mantissa times a power of two is a number of the format.
  static constexpr bool kExact = kLayout.mantissa_top_bit() < Format::kFractionBits;

  // The code is the exponent field of the largest magnitude, after a carry, plus this.
  static constexpr Bits kCarry = code_carry<Format, Mantissa>();
  static constexpr std::int32_t kCodeOfField = kLayout.exponent_bias() - Format::kBias;

  // The range of plain codes in encoding. Half a unit must be a normal number, and after the carry
  // the exponent field must be neither 0 nor all ones. If there is a carry, the field must not be
  // 1, because a subnormal may reach 1 by the carry.
  static constexpr std::int32_t kUnitFirst =
      2 - W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit();
  static constexpr std::int32_t kEncodeFirst =
      std::max(std::max(0, kCodeOfField) + (kCarry == 0 ? 1 : 2), kUnitFirst);
  static constexpr std::int32_t kEncodeLast = 2 * Format::kBias + kCodeOfField;

  // The range of plain codes in decoding, in which the unit, and the unit divided by the largest
  // divisor, are normal numbers.
  static constexpr std::int32_t kDecodeFirst =
      33 - W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit();
  // Pairs of bf16 need another 33 bits above the unit.
  static constexpr std::int32_t kDecodeLast = std::min(
      kLayout.exponent_code_max(),
      W::kBias + kLayout.exponent_bias() + kLayout.mantissa_top_bit() - (kDecodePairs ? 33 : 0));

  // Returns the code of a block whose largest magnitude this is, or 0 if the block is not plain.
  // Subnormal f16 are plain here beyond the limits above, because they are normal numbers in f32.
  static HWY_INLINE std::int32_t plain_code(Bits largest) {
    std::int32_t code = static_cast<std::int32_t>((largest + kCarry) >> Format::kFractionBits);
    code += kCodeOfField;
    if (code >= kEncodeFirst && code <= kEncodeLast) return code;
    if (Format::kWidth != 16 || largest == 0 || largest >= Format::kInfinity) return 0;
    code = block_code<Format, Mantissa>(largest, 0);
    return code >= kUnitFirst ? code : 0;
  }

  static HWY_INLINE void encode_plain(const Bits* tensor, Wide<Format> inverse_unit,
                                      Mantissa* mantissas) {
    if constexpr (kPairs) {
      using Unsigned = std::make_unsigned_t<Mantissa>;
      const hn::CappedTag<std::uint16_t, kElements> d;
      for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
        const auto integers = encode_bf16_pairs(d, tensor + i, inverse_unit);
        auto* to = reinterpret_cast<Unsigned*>(mantissas + i);
        if constexpr (sizeof(Mantissa) == 2) {
          hn::StoreU(integers, d, to);
        } else {
          const hn::Rebind<Unsigned, decltype(d)> narrow;
          hn::StoreU(hn::TruncateTo(narrow, integers), narrow, to);
        }
      }
    } else {
      const hn::CappedTag<Wide<Format>, kElements> d;
      const auto scale = hn::Set(d, inverse_unit);
      if constexpr (sizeof(Mantissa) == 2 && sizeof(Wide<Format>) == 4) {
        if (store_two<Format>(d, tensor, scale, mantissas)) return;
      }
      for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
        store_mantissas(d, load_floats<Format>(d, tensor + i), scale, mantissas + i);
      }
    }
  }

  // `both_units` is unit * kBothUnits. Only pairs use it.
  static HWY_INLINE void decode_plain(const Mantissa* mantissas, Wide<Format> unit,
                                      [[maybe_unused]] Wide<Format> both_units, Bits* tensor) {
    if constexpr (kDecodePairs) {
      decode_bf16_pairs<kElements>(mantissas, unit, both_units, tensor);
    } else {
      const hn::CappedTag<Wide<Format>, kElements> d;
      const auto scale = hn::Set(d, unit);
      for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
        store_floats<Format, kExact>(d, hn::Mul(load_mantissas(d, mantissas + i), scale),
                                     tensor + i);
      }
    }
  }

  // Divides by divisors that are not powers of two. The quotient is rounded to double, then once to
  // f32.
  static HWY_INLINE void decode_quotient(const Mantissa* mantissas, double unit, Bits* tensor) {
    const hn::CappedTag<double, kElements> dd;
    const hn::Rebind<Wide<Format>, decltype(dd)> d;
    const auto scale = hn::Set(dd, unit);
    for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(dd))) {
      const auto quotient = hn::Mul(load_mantissas(dd, mantissas + i), scale);
      if constexpr (Format::kWidth == 64) {
        store_floats<Format>(d, quotient, tensor + i);
      } else {
        store_floats<Format>(d, hn::DemoteTo(d, quotient), tensor + i);
      }
    }
  }

  static HWY_INLINE bool has_special_codes(const Mantissa* mantissas) {
    const hn::CappedTag<Mantissa, kElements> d;
    const auto limit = hn::Set(d, static_cast<Mantissa>(kLayout.mantissa_limit()));
    auto beyond = hn::Zero(d);
    for (std::uint32_t i = 0; i < kElements; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
      const auto value = hn::LoadU(d, mantissas + i);
      const auto outside = hn::Or(hn::Gt(value, limit), hn::Lt(value, hn::Neg(limit)));
      beyond = hn::Or(beyond, hn::VecFromMask(d, outside));
    }
    return !hn::AllTrue(d, hn::Eq(beyond, hn::Zero(d)));
  }
};

#endif  // INFOLD_VECTOR_BLOCKS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif
