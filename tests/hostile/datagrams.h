// SPDX-License-Identifier: Apache-2.0
//
// Honest datagrams of one small job. Tests make dishonest ones from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/aggregator/aggregator.h"
#include "core/packet/packet.h"

namespace infold::hostile {

inline constexpr std::uint16_t kJob = 7;
inline constexpr std::uint32_t kEpoch = 3;
inline constexpr std::uint16_t kSlots = 2;
inline constexpr std::uint8_t kWorkers = 3;
inline constexpr std::uint32_t kElements = 16;

using Datagram = std::vector<std::byte>;

// Options of a root for kWorkers single ranks, or with `parent` of a leaf in a job of twice as many
// ranks.
core::AggregatorOptions aggregator_options(bool parent = false);

// The header of worker `worker`'s contribution to a chunk of kElements 32-bit integers.
core::Header contribution(std::uint8_t worker, std::uint16_t slot, std::uint32_t round);
Datagram add_datagram(std::uint8_t worker, std::uint16_t slot, std::uint32_t round,
                      std::span<const std::int32_t> elements);
// Makes the same packet in the form that may leave out blocks. Its only block is present.
Datagram sparse_add_datagram(std::uint8_t worker, std::uint16_t slot, std::uint32_t round,
                             std::span<const std::int32_t> elements);
Datagram quarters_add_datagram(std::uint8_t worker, std::uint16_t slot, std::uint32_t round,
                               std::span<const std::int32_t> elements);
// Makes the same packet without the quarters that are zeros. Requires: a whole contribution or
// result.
Datagram in_quarters(const Datagram& whole);
// Makes a packet without a body: skip or query.
Datagram bare_datagram(core::Kind kind, std::uint8_t worker, std::uint16_t slot,
                       std::uint32_t round);
// One honest datagram of every kind in the direction, in several formats.
std::vector<Datagram> samples_to_aggregator();
std::vector<Datagram> samples_from_aggregator();

}  // namespace infold::hostile
