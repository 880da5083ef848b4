// SPDX-License-Identifier: Apache-2.0
//
// The body of an exact sum that an aggregator sends to its parent: a PARTIAL in format native
// . It has one or several parts, each in its own packet. Part 0 has a double for each
// element, and second doubles for some elements, or for all if the type is f64. The other parts, if
// there are any, have rows of the integers that hold what two doubles cannot (core/exact/bins.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packet/packet.h"

namespace infold::core {

// The parent keeps the parts of one sum as bits of a word.
inline constexpr std::uint32_t kExactPartsMax = 32;

// Returns how many second doubles part 0 may have. In hard cases a few elements need one.
constexpr std::uint32_t exact_lows_max(DataType dtype, std::uint32_t elements) {
  constexpr std::uint32_t kPairs = 12;
  return dtype == DataType::f64 || elements < kPairs ? elements : kPairs;
}

// Returns the bytes of part 0. f64 has either no second doubles or all of them; other types have
// pairs of an index and a double.
std::uint32_t exact_body_bytes(DataType dtype, std::uint32_t elements, std::uint32_t lows);

constexpr bool is_exact_sum(const Header& header) {
  return header.kind == Kind::partial && header.signature.layout().is_native();
}

// One part as it lies in a packet. All numbers are within the bounds of the arrays.
struct ExactBody {
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  std::uint32_t lows = 0;
  std::uint32_t first_row = 0;
  std::uint32_t rows = 0;
  const std::byte* high = nullptr;         // in part 0
  const std::byte* low_indices = nullptr;  // in part 0 with pairs
  const std::byte* lows_at = nullptr;      // in part 0 with second doubles
  const std::byte* digits = nullptr;       // in the other parts

  // Returns the element that a pair belongs to, within bounds even if a sender on the same host has
  // changed it after the check.
  std::uint32_t low_index(std::uint32_t pair, std::uint32_t elements) const;
};

Malformed check_exact(const Packet& packet);
// Requires: check_exact() found nothing.
ExactBody read_exact(const Packet& packet);

// Writes part 0 and returns its bytes. `low` may be null. Requires: at most exact_lows_max() of its
// numbers are nonzero.
std::uint32_t write_exact_doubles(DataType dtype, std::uint32_t elements, std::uint32_t parts,
                                  const double* high, const double* low, std::byte* body);
// Writes the head of another part. The caller writes its rows after it, with 4 bytes for each
// element.
std::uint32_t write_exact_head(std::uint32_t part, std::uint32_t parts, std::uint32_t first_row,
                               std::uint32_t rows, std::byte* body);

}  // namespace infold::core
