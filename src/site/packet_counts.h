// SPDX-License-Identifier: Apache-2.0
//
// What becomes of packets at a switch, one counter for each reason: those of an aggregator
// (core::Verdict), then those that only what stands before it sees. Both planes count by these, so
// that one reason has one name; xdp/program/program.cc pins the packet program's own numbers to
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/aggregator/aggregator.h"

namespace infold::site {

enum class PlaneVerdict : std::uint8_t {
  dropped_checksum,
  dropped_busy,        // another processor was changing the chunk; the worker will repeat itself
  dropped_broken,      // addressed to us, but lengths or IP checksum are wrong
  dropped_unsummed,    // its sender left the checksum to a card that it does not have
  dropped_unsendable,  // the driver takes no notes, or the frame has no room
  answered_probe,
  heard_echo,          // likewise: of a probe that this switch has sent to its parent
  dropped_stray,       // came past the program, which alone can sum it
  count_,
};

inline constexpr std::size_t kPacketCounts = static_cast<std::size_t>(core::Verdict::count_) +
                                             static_cast<std::size_t>(PlaneVerdict::count_);
using PacketCounts = std::array<std::uint64_t, kPacketCounts>;

constexpr std::size_t count_index(core::Verdict verdict) {
  return static_cast<std::size_t>(verdict);
}
constexpr std::size_t count_index(PlaneVerdict verdict) {
  return static_cast<std::size_t>(core::Verdict::count_) + static_cast<std::size_t>(verdict);
}

// Whether only the packet program can tell: to a switch in user space such packets never come.
constexpr bool is_of_program(std::size_t index) {
  return index >= count_index(core::Verdict::count_) &&
         index != count_index(PlaneVerdict::answered_probe);
}

// As in reports and metrics. Requires: index < kPacketCounts.
const char* count_name(std::size_t index);

}  // namespace infold::site
