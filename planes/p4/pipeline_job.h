// SPDX-License-Identifier: Apache-2.0
//
// A job in a pipeline, as the controller knows it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/aggregator/aggregator.h"
#include "io/address/socket_address.h"
#include "planes/p4/program.h"

namespace infold::p4 {

// Where a worker's packets come from.
struct Place {
  std::uint64_t mac = 0;
  std::uint16_t udp_port = 0;
  std::uint32_t port = 0;  // a port of the device
  friend bool operator==(const Place&, const Place&) = default;
};

struct PipelineWorker {
  io::SocketAddress source;
  std::optional<Place> place;  // empty until it has sent a packet
  bool is_in_tables = false;   // whether its place is; if not, some of its entries may be there
};

// With one rank, all bits would be seen both before and after its packet, so the program would not
// notice a change.
inline constexpr std::uint32_t kRanksMin = 2;

struct PipelineJob {
  core::AggregatorOptions options;
  std::uint16_t index = 0;  // less than kJobsMax; no other job has it
  bool is_in_tables = false;
  bool has_ended = false;  // according to the tables
  std::vector<PipelineWorker> workers;
  std::optional<core::Abort> end;

  // The pipeline has this many slots for each job, whether the job uses them or not.
  std::uint32_t first_slot() const { return index * kSlotsOfJob; }
};

}  // namespace infold::p4
