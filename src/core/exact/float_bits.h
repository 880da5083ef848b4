// SPDX-License-Identifier: Apache-2.0
//
// Handles binary floating-point numbers as integers: unpacks them and rounds exact values, for the
// four float types of tensors. These pure functions use only integer operations. Results therefore
// do not depend on the processor's conversions, its rounding mode or its flush-to-zero flags, which
// training frameworks set.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/format.h"

namespace infold::core {

// Load and store work at any address, because a tensor may begin anywhere.
template <typename T>
T load(const std::byte* at, std::size_t index = 0) {
  T value;
  std::memcpy(&value, at + index * sizeof(T), sizeof(T));
  return value;
}
template <typename T>
void store(std::byte* at, std::size_t index, T value) {
  std::memcpy(at + index * sizeof(T), &value, sizeof(T));
}

// Divides by 2^shift and rounds to nearest, ties to even; a negative shift multiplies. Requires:
// value < 2^63, and the product fits 64 bits.
constexpr std::uint64_t round_shift(std::uint64_t value, int shift) {
  if (shift <= 0) return value << -shift;
  if (shift > 63) return 0;
  const std::uint64_t below_half = (std::uint64_t{1} << (shift - 1)) - 1;
  return (value + below_half + ((value >> shift) & 1)) >> shift;
}

// An interchange format of IEEE 754: sign, kExponentBits, kFractionBits.
template <typename BitsType, int kFraction, DataType kType>
struct FloatFormat {
  using Bits = BitsType;
  static constexpr DataType kDtype = kType;
  static constexpr int kWidth = 8 * static_cast<int>(sizeof(Bits));
  static constexpr int kFractionBits = kFraction;
  static constexpr int kExponentBits = kWidth - 1 - kFraction;
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  // The exponent of the last place of subnormal numbers, and also of the smallest normal numbers.
  static constexpr int kExponentMin = 1 - kBias - kFraction;
  static constexpr Bits kSign = static_cast<Bits>(Bits{1} << (kWidth - 1));
  static constexpr Bits kInfinity =
      static_cast<Bits>(((Bits{1} << kExponentBits) - 1) << kFractionBits);
  static constexpr Bits kQuietNan = static_cast<Bits>(kInfinity | (Bits{1} << (kFractionBits - 1)));
};

using F32 = FloatFormat<std::uint32_t, 23, DataType::f32>;
using F16 = FloatFormat<std::uint16_t, 10, DataType::f16>;
using Bf16 = FloatFormat<std::uint16_t, 7, DataType::bf16>;
using F64 = FloatFormat<std::uint64_t, 52, DataType::f64>;

template <typename Format>
constexpr typename Format::Bits magnitude_bits(typename Format::Bits bits) {
  return bits & static_cast<typename Format::Bits>(~Format::kSign);
}
template <typename Format>
constexpr bool is_special(typename Format::Bits bits) {
  return magnitude_bits<Format>(bits) >= Format::kInfinity;
}

// Stands for exactly (-1)^negative * significand * 2^exponent. Zero has significand 0.
struct ExactFloat {
  bool negative = false;
  std::uint64_t significand = 0;
  int exponent = 0;
};

// floor(log2(magnitude)). Requires: not zero.
constexpr int floor_log2(ExactFloat value) {
  return value.exponent + static_cast<int>(std::bit_width(value.significand)) - 1;
}

// Requires: bits is not special.
template <typename Format>
constexpr ExactFloat unpack(typename Format::Bits bits) {
  const std::uint64_t magnitude = magnitude_bits<Format>(bits);
  const auto biased = static_cast<int>(magnitude >> Format::kFractionBits);
  const std::uint64_t leading = std::uint64_t{1} << Format::kFractionBits;
  const std::uint64_t fraction = magnitude & (leading - 1);
  const bool negative = (bits & Format::kSign) != 0;
  if (biased == 0) return {negative, fraction, Format::kExponentMin};
  return {negative, fraction | leading, Format::kExponentMin + biased - 1};
}

// Returns the nearest number of the format, ties to even, and infinity beyond the largest number. A
// value that rounds to zero keeps its sign, as in the processor. Requires: significand < 2^63.
template <typename Format>
constexpr typename Format::Bits pack(ExactFloat value) {
  using Bits = typename Format::Bits;
  const Bits sign = value.negative ? Format::kSign : Bits{0};
  if (value.significand == 0) return sign;
  const int leading = floor_log2(value);
  if (leading > Format::kBias) return sign | Format::kInfinity;
  const int normal = leading - Format::kFractionBits;
  const int last_place = normal > Format::kExponentMin ? normal : Format::kExponentMin;
  const std::uint64_t rounded = round_shift(value.significand, last_place - value.exponent);
  // A normal number's leading bit adds one to the exponent field. A carry out of the fraction needs
  // no extra step, because it gives the first normal number, or infinity.
  const auto field = static_cast<std::uint64_t>(last_place - Format::kExponentMin);
  return static_cast<Bits>(sign | ((field << Format::kFractionBits) + rounded));
}

}  // namespace infold::core
