// SPDX-License-Identifier: Apache-2.0
//
// The scalar loops of block floating point, to be read beside spec section 3.
#include "numeric/block_float.h"

#include <algorithm>
#include <bit>

namespace infold::numeric {
namespace {

template <typename Mantissa>
Mantissa special_code(bool is_nan, bool negative, core::ElementLayout layout) {
  if (is_nan) return static_cast<Mantissa>(layout.code_nan());
  return static_cast<Mantissa>(negative ? layout.code_minus_infinity()
                                        : layout.code_plus_infinity());
}

template <typename Format>
std::uint64_t rounded_magnitude(typename Format::Bits bits, std::int32_t unit) {
  const ExactFloat value = unpack<Format>(bits);
  return round_shift(value.significand, unit - value.exponent);
}

}  // namespace

template <typename Format>
BlockMaximum<Format> block_maximum(const std::byte* tensor, std::uint32_t count) {
  const auto magnitude = [tensor](std::uint32_t i) {
    return magnitude_bits<Format>(load<typename Format::Bits>(tensor, i));
  };
  // This loop has no branch, so that compilers vectorise it.
  BlockMaximum<Format> result;
  for (std::uint32_t i = 0; i < count; ++i) result.finite = std::max(result.finite, magnitude(i));
  result.specials = result.finite >= Format::kInfinity;
  if (!result.specials) return result;
  result.finite = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (magnitude(i) < Format::kInfinity) result.finite = std::max(result.finite, magnitude(i));
  }
  return result;
}

template <typename Format, typename Mantissa>
std::int32_t block_code(typename Format::Bits largest, std::uint16_t floor) {
  constexpr core::ElementLayout kLayout = block_layout<Format, Mantissa>();
  const int log2 = floor_log2(unpack<Format>(largest));
  std::int32_t code = std::max(log2 + kLayout.exponent_bias(), 1);
  const auto limit = static_cast<std::uint64_t>(kLayout.mantissa_limit());
  if (rounded_magnitude<Format>(largest, kLayout.unit_exponent(code)) > limit) ++code;
  code = std::max(code, std::min<std::int32_t>(floor, kLayout.exponent_code_max()));
  const bool all_zero = rounded_magnitude<Format>(largest, kLayout.unit_exponent(code)) == 0;
  return all_zero ? 0 : code;
}

template <typename Format, typename Mantissa>
BlockCode encode_block(const std::byte* tensor, std::uint32_t count, std::uint16_t floor,
                       std::byte* mantissas) {
  using Bits = typename Format::Bits;
  constexpr core::ElementLayout kLayout = block_layout<Format, Mantissa>();
  const BlockMaximum<Format> maximum = block_maximum<Format>(tensor, count);
  const std::int32_t code =
      maximum.finite == 0 ? 0 : block_code<Format, Mantissa>(maximum.finite, floor);

  for (std::uint32_t i = 0; i < count; ++i) {
    const auto bits = load<Bits>(tensor, i);
    const bool negative = (bits & Format::kSign) != 0;
    Mantissa mantissa = 0;
    if (is_special<Format>(bits)) {
      const bool is_nan = magnitude_bits<Format>(bits) != Format::kInfinity;
      mantissa = special_code<Mantissa>(is_nan, negative, kLayout);
    } else if (code != 0) {
      const auto rounded =
          static_cast<std::int64_t>(rounded_magnitude<Format>(bits, kLayout.unit_exponent(code)));
      mantissa = static_cast<Mantissa>(negative ? -rounded : rounded);
    }
    store<Mantissa>(mantissas, i, mantissa);
  }
  return {static_cast<std::uint16_t>(code), maximum.specials};
}

template <typename Format>
typename Format::Bits scaled(std::int64_t mantissa, std::int32_t unit, std::uint32_t divisor) {
  ExactFloat value = {mantissa < 0, static_cast<std::uint64_t>(mantissa < 0 ? -mantissa : mantissa),
                      unit};
  if (divisor > 1) {
    const double quotient = static_cast<double>(value.significand) * (1.0 / divisor);
    const ExactFloat rounded = unpack<F64>(std::bit_cast<std::uint64_t>(quotient));
    value.significand = rounded.significand;
    value.exponent += rounded.exponent;
  }
  if constexpr (Format::kWidth == 16) {
    const F32::Bits single = pack<F32>(value);
    if (is_special<F32>(single)) {
      return static_cast<typename Format::Bits>((single >> 16 & Format::kSign) | Format::kInfinity);
    }
    return pack<Format>(unpack<F32>(single));
  } else {
    return pack<Format>(value);
  }
}

template <typename Format, typename Mantissa>
void decode_block(std::byte* tensor, std::uint32_t count, BlockScale scale,
                  const std::byte* mantissas) {
  using Bits = typename Format::Bits;
  constexpr core::ElementLayout kLayout = block_layout<Format, Mantissa>();
  const std::int32_t unit = kLayout.unit_exponent(static_cast<std::int32_t>(scale.code));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int64_t mantissa = load<Mantissa>(mantissas, i);
    Bits bits = 0;
    if (scale.specials && mantissa == kLayout.code_nan()) {
      bits = Format::kQuietNan;
    } else if (scale.specials && mantissa == kLayout.code_plus_infinity()) {
      bits = Format::kInfinity;
    } else if (scale.specials && mantissa == kLayout.code_minus_infinity()) {
      bits = Format::kSign | Format::kInfinity;
    } else if (scale.code != 0) {
      bits = scaled<Format>(mantissa, unit, scale.divisor);
    }
    store<Bits>(tensor, i, bits);
  }
}

#define INFOLD_INSTANTIATE_MANTISSA(Format, Mantissa)                                 \
  template std::int32_t block_code<Format, Mantissa>(Format::Bits, std::uint16_t);    \
  template BlockCode encode_block<Format, Mantissa>(const std::byte*, std::uint32_t,  \
                                                    std::uint16_t, std::byte*);       \
  template void decode_block<Format, Mantissa>(std::byte*, std::uint32_t, BlockScale, \
                                               const std::byte*);
#define INFOLD_INSTANTIATE(Format)                                                      \
  template BlockMaximum<Format> block_maximum<Format>(const std::byte*, std::uint32_t); \
  template Format::Bits scaled<Format>(std::int64_t, std::int32_t, std::uint32_t);      \
  INFOLD_INSTANTIATE_MANTISSA(Format, std::int8_t)                                      \
  INFOLD_INSTANTIATE_MANTISSA(Format, std::int16_t)                                     \
  INFOLD_INSTANTIATE_MANTISSA(Format, std::int32_t)
INFOLD_INSTANTIATE(F32)
INFOLD_INSTANTIATE(F16)
INFOLD_INSTANTIATE(Bf16)
INFOLD_INSTANTIATE(F64)

}  // namespace infold::numeric
