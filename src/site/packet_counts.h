// SPDX-License-Identifier: Apache-2.0
//
// Counts packets at a switch by their outcome. The first counters are the aggregator's verdicts
// (core::Verdict); the others belong to the code in front of it. All planes share them, so that an
// outcome has the same name everywhere. planes/xdp/program/counters.cc checks that the packet
// program uses the same numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aggregator/aggregator.h"
#include "status/switch_metrics.h"

namespace infold::site {

enum class PlaneVerdict : std::uint8_t {
  dropped_checksum,
  dropped_busy,        // another processor was changing the chunk; the worker retransmits
  dropped_broken,      // addressed to us, but with wrong lengths or a wrong IP checksum
  dropped_unsummed,    // the sender left the checksum to a card, and no card completed it
  dropped_unsendable,  // the network driver does not take notes, or the frame has no room
  answered_probe,
  heard_echo,          // R-017; the probe went to the parent
  dropped_stray,       // bypassed the packet program, which alone can sum it
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

// The counter's name in reports and metrics. Requires: index < kPacketCounts.
const char* count_name(std::size_t index);

// Returns the counts, each with its name.
std::vector<status::PacketCount> named_counts(std::span<const std::uint64_t> counts);
// Leaves out the outcomes that only a packet program or a pipeline counts, because a switch in user
// space never sees such packets.
std::vector<status::PacketCount> named_counts_in_user_space(const PacketCounts& counts);

// Fills in the packet counts of the running job with that number. Does nothing if the job has ended
// meanwhile.
void set_job_packets(std::uint16_t job, const core::VerdictCounters& verdicts,
                     std::vector<status::JobMetrics>& jobs);

}  // namespace infold::site
