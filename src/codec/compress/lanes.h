// SPDX-License-Identifier: Apache-2.0
//
// Codes that share one 32-bit integer, so that any aggregator that adds 32-bit integers adds all of
// them at once. Codes are 0 to `levels`. A lane is wide enough for the sum of all ranks' codes:
// levels x world < 2^width. So no lane carries into its neighbour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace infold::codec {

struct Lanes {
  std::uint32_t width = 32;  // bits of a lane: 1, 2, 3, 4, 5, 6, 8, 10, 16 or 32
  std::uint32_t count = 1;   // lanes of an integer
  std::uint32_t levels = 1;  // the largest code

  // The narrowest lanes that hold `world` codes. Empty: 32 bits are not enough.
  static constexpr std::optional<Lanes> fit(std::uint32_t levels, std::uint32_t world) {
    const std::uint64_t most = static_cast<std::uint64_t>(levels) * world;
    for (const std::uint32_t width : {1U, 2U, 3U, 4U, 5U, 6U, 8U, 10U, 16U, 32U}) {
      if (most < (std::uint64_t{1} << width)) return Lanes{width, 32 / width, levels};
    }
    return std::nullopt;
  }

  constexpr std::size_t integers(std::size_t codes) const { return (codes + count - 1) / count; }
  constexpr std::uint32_t shift(std::size_t code) const {
    return static_cast<std::uint32_t>(code % count) * width;
  }
  // The lane of a code, or the sum of codes, in its integer.
  constexpr std::uint32_t take(std::uint32_t integer, std::size_t code) const {
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    return static_cast<std::uint32_t>((integer >> shift(code)) & mask);
  }
};

}  // namespace infold::codec
