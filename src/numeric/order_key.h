// SPDX-License-Identifier: Apache-2.0
//
// Maps floats to integers that have the same order. An aggregator that compares these integers
// finds the minimum and maximum of floats. -0 is below +0. NaN is beyond every number in
// the direction of the search, so NaN always wins.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "numeric/floats.h"

namespace infold::numeric {

// Positive numbers are already in order. Negative numbers are in order once all bits except the
// sign are flipped. The map is its own inverse.
template <typename Format>
constexpr std::make_signed_t<typename Format::Bits> flip(typename Format::Bits bits) {
  using Key = std::make_signed_t<typename Format::Bits>;
  const auto flipped = (bits & Format::kSign) != 0 ? bits ^ std::numeric_limits<Key>::max() : bits;
  return static_cast<Key>(flipped);
}

template <typename Format, core::Reduction kReduction>
constexpr std::make_signed_t<typename Format::Bits> order_key(typename Format::Bits bits) {
  using Limits = std::numeric_limits<std::make_signed_t<typename Format::Bits>>;
  if (magnitude_bits<Format>(bits) > Format::kInfinity) {
    return kReduction == core::Reduction::max ? Limits::max() : Limits::min();
  }
  return flip<Format>(bits);
}

template <typename Format>
constexpr typename Format::Bits from_order_key(std::make_signed_t<typename Format::Bits> key) {
  using Bits = typename Format::Bits;
  const auto bits = static_cast<Bits>(flip<Format>(static_cast<Bits>(key)));
  return magnitude_bits<Format>(bits) > Format::kInfinity ? Format::kQuietNan : bits;
}

}  // namespace infold::numeric
