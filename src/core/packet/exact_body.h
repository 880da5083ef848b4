// SPDX-License-Identifier: Apache-2.0
//
// The body of an exact sum that an aggregator sends to its parent: a PARTIAL in format native
// . It has one part or several, each in a packet of its own. Part 0 has a double for each
// element, and second doubles of some elements or, of f64, of all. The other parts, if there are
// any, have rows of the integers that hold what two doubles do not (core/exact/bins.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/packet/packet.h"

namespace infold::core {

// Parts of one sum are bits of a word at the parent.
inline constexpr std::uint32_t kExactPartsMax = 32;

// How many second doubles part 0 may have: in hard cases a few elements need one.
constexpr std::uint32_t exact_lows_max(DataType dtype, std::uint32_t elements) {
  constexpr std::uint32_t kPairs = 12;
  return dtype == DataType::f64 || elements < kPairs ? elements : kPairs;
}

// Of part 0. f64 has no second double or all of them; other types have pairs.
std::uint32_t exact_body_bytes(DataType dtype, std::uint32_t elements, std::uint32_t lows);

constexpr bool is_exact_sum(const Header& header) {
  return header.kind == Kind::partial && header.signature.layout().is_native();
}

// One part, as it lies in a packet. Every number fits its arrays.
struct ExactBody {
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  std::uint32_t lows = 0;
  std::uint32_t first_row = 0;
  std::uint32_t rows = 0;
  const std::byte* high = nullptr;         // of part 0
  const std::byte* low_indices = nullptr;  // of part 0 with pairs
  const std::byte* lows_at = nullptr;      // of part 0 with second doubles
  const std::byte* digits = nullptr;       // of the others

  // The element that the pair is of. A sender of the same host may change it after the check.
  std::uint32_t low_index(std::uint32_t pair, std::uint32_t elements) const;
};

Malformed check_exact(const Packet& packet);
// Requires: check_exact() found nothing.
ExactBody read_exact(const Packet& packet);

// Writes part 0 and returns its bytes. `low` may be null. Requires: at most exact_lows_max() of
// them are not 0.
std::uint32_t write_exact_doubles(DataType dtype, std::uint32_t elements, std::uint32_t parts,
                                  const double* high, const double* low, std::byte* body);
// Writes the head of another part; its rows follow, 4 bytes for each element.
std::uint32_t write_exact_head(std::uint32_t part, std::uint32_t parts, std::uint32_t first_row,
                               std::uint32_t rows, std::byte* body);

}  // namespace infold::core
