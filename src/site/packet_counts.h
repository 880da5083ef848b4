// SPDX-License-Identifier: Apache-2.0
//
// Counters of packets at a switch, one for each outcome. First those of an aggregator
// (core::Verdict), then those of the code before it. Both planes use them, so one outcome has one
// name. xdp/program/counters.cc checks that the packet program has the same numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/aggregator/aggregator.h"

namespace infold::site {

enum class PlaneVerdict : std::uint8_t {
  dropped_checksum,
  dropped_busy,        // another processor was changing the chunk; the worker retransmits
  dropped_broken,      // addressed to us, with wrong lengths or IP checksum
  dropped_unsummed,    // the sender left the checksum to a card that it lacks
  dropped_unsendable,  // the driver takes no notes, or the frame has no room
  answered_probe,
  heard_echo,          // R-017, of a probe to the parent
  dropped_stray,       // bypassed the program, which alone can sum it
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

// Whether only the packet program counts it. A switch in user space never sees such packets.
constexpr bool is_of_program(std::size_t index) {
  return index >= count_index(core::Verdict::count_) &&
         index != count_index(PlaneVerdict::answered_probe);
}

// The name in reports and metrics. Requires: index < kPacketCounts.
const char* count_name(std::size_t index);

}  // namespace infold::site
