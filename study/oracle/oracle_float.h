// SPDX-License-Identifier: Apache-2.0
//
// Converts floats of any tensor type to doubles and back, for the oracle. A double holds every
// value of every type exactly. The conversion back rounds to nearest with ties to even, and uses
// only library functions.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "core/format.h"

namespace infold::oracle {

struct FloatTraits {
  int fraction_bits;
  int exponent_min;  // the exponent of the smallest normal number
  int exponent_max;
};

constexpr FloatTraits float_traits(core::DataType dtype) {
  switch (dtype) {
    case core::DataType::f16: return {10, -14, 15};
    case core::DataType::bf16: return {7, -126, 127};
    case core::DataType::f64: return {52, -1022, 1023};
    default: return {23, -126, 127};
  }
}

inline double load_float(core::DataType dtype, const std::byte* tensor, std::uint64_t index) {
  switch (dtype) {
    case core::DataType::f64: {
      double value;
      std::memcpy(&value, tensor + index * 8, 8);
      return value;
    }
    case core::DataType::f32: {
      float value;
      std::memcpy(&value, tensor + index * 4, 4);
      return static_cast<double>(value);
    }
    default: break;
  }
  std::uint16_t bits;
  std::memcpy(&bits, tensor + index * 2, 2);
  const FloatTraits traits = float_traits(dtype);
  const int field = (bits & 0x7FFF) >> traits.fraction_bits;
  const int fraction = bits & ((1 << traits.fraction_bits) - 1);
  double value = 0;
  if (field == traits.exponent_max * 2 + 1) {
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  } else if (field == 0) {
    value = std::ldexp(fraction, traits.exponent_min - traits.fraction_bits);
  } else {
    value = std::ldexp((1 << traits.fraction_bits) + fraction,
                       field - traits.exponent_max - traits.fraction_bits);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// Requires: dtype is f16 or bf16, and `value` is finite, infinite or NaN.
inline std::uint16_t to_sixteen_bits(core::DataType dtype, double value) {
  const FloatTraits traits = float_traits(dtype);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const auto infinity =
      static_cast<std::uint16_t>((2 * traits.exponent_max + 1) << traits.fraction_bits);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(infinity | 1 << (traits.fraction_bits - 1));
  }
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  const int exponent =
      magnitude == 0 ? traits.exponent_min : std::max(std::ilogb(magnitude), traits.exponent_min);
  // The magnitude in units of the last place. A carry into the next power of two also gives the
  // right bits.
  const double places = std::nearbyint(std::ldexp(magnitude, traits.fraction_bits - exponent));
  const int field = exponent - traits.exponent_min;  // one less than the biased exponent
  const int bits = (field << traits.fraction_bits) + static_cast<int>(places);
  return bits >= infinity ? sign | infinity : static_cast<std::uint16_t>(sign | bits);
}

// Stores `value`. Unless the type is f64, rounds it to f32 first, and then to 16 bits if the type
// is that short.
inline void store_float(core::DataType dtype, std::byte* tensor, std::uint64_t index,
                        double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();  // drops the sign
  if (dtype == core::DataType::f64) {
    std::memcpy(tensor + index * 8, &value, 8);
    return;
  }
  const auto single = static_cast<float>(value);
  if (dtype == core::DataType::f32) {
    std::memcpy(tensor + index * 4, &single, 4);
    return;
  }
  const std::uint16_t bits = to_sixteen_bits(dtype, static_cast<double>(single));
  std::memcpy(tensor + index * 2, &bits, 2);
}

}  // namespace infold::oracle
