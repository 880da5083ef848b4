// SPDX-License-Identifier: Apache-2.0
//
// Packs several codes into one 32-bit integer, so that any aggregator that adds 32-bit integers
// adds all of them at once. Codes are 0 to `levels`. A lane is wide enough for the sum of all
// ranks' codes (levels x world < 2^width), so no lane carries into its neighbour.
// numeric/codes/code_loops.h says which code is in which lane.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numeric/codec.h"

namespace infold::compress {

struct Lanes {
  std::uint32_t width = 32;  // bits of a lane: 1, 2, 3, 4, 5, 6, 8, 10, 16 or 32
  std::uint32_t levels = 1;  // the largest code

  // Returns the narrowest lanes that hold the sum of `world` codes. Empty if 32 bits are not
  // enough.
  static constexpr std::optional<Lanes> fit(std::uint32_t levels, std::uint32_t world) {
    const std::uint64_t most = static_cast<std::uint64_t>(levels) * world;
    for (const std::uint32_t width : {1U, 2U, 3U, 4U, 5U, 6U, 8U, 10U, 16U, 32U}) {
      if (most < (std::uint64_t{1} << width)) return Lanes{width, levels};
    }
    return std::nullopt;
  }

  constexpr std::size_t integers(std::size_t codes) const {
    return numeric::packed_integers(codes, width);
  }
};

// This many codes stay in the first-level cache.
inline constexpr std::size_t kCodesTogether = 2048;

// Returns kCodesTogether, rounded down to a number of codes that fills whole groups of integers.
constexpr std::size_t codes_together(std::uint32_t width) {
  const std::size_t group = numeric::codes_of_group(width);
  return kCodesTogether / group * group;
}

// Fills `integers` with the codes of `elements` elements. Calls write(first, codes), in the order
// of the elements, to get the codes of the elements from `first` on.
template <typename Write>
void pack_lanes(const Lanes& lanes, std::size_t elements, std::vector<std::uint32_t>& integers,
                Write write) {
  integers.resize(lanes.integers(elements));
  std::array<std::uint32_t, kCodesTogether> codes;
  std::uint32_t* at = integers.data();
  const std::size_t together = codes_together(lanes.width);
  for (std::size_t first = 0; first < elements; first += together) {
    const std::size_t size = std::min(together, elements - first);
    write(first, std::span(codes).first(size));
    numeric::code_loops().pack(codes.data(), size, lanes.width, at);
    at += lanes.integers(size);
  }
}

// Unpacks the codes, or sums of codes, of `elements` elements. Calls read(first, codes) in the
// order of the elements. Requires: integers.size() is at least lanes.integers(elements).
template <typename Read>
void unpack_lanes(const Lanes& lanes, std::span<const std::uint32_t> integers, std::size_t elements,
                  Read read) {
  std::array<std::uint32_t, kCodesTogether> codes;
  const std::uint32_t* at = integers.data();
  const std::size_t together = codes_together(lanes.width);
  for (std::size_t first = 0; first < elements; first += together) {
    const std::size_t size = std::min(together, elements - first);
    numeric::code_loops().unpack(at, size, lanes.width, codes.data());
    read(first, std::span<const std::uint32_t>(codes).first(size));
    at += lanes.integers(size);
  }
}

}  // namespace infold::compress
