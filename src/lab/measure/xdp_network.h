// SPDX-License-Identifier: Apache-2.0
//
// What a packet costs a processor that does everything for it: sends it from a rank's socket in a
// lab, runs a packet program at the switch's port, and takes in what comes back. The aggregator
// beside a program that only sends packets back, and one that drops them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lab/measure/bench_packets.h"

namespace infold::lab {

struct XdpNetworkOptions {
  std::uint16_t world = 8;
  std::uint32_t samples = 11;
  std::uint32_t rounds = 300;  // of each sample: a train from each rank, and its answers
};

struct XdpNetworkCost {
  std::string program;   // "drop", "bounce", or a wire format that is summed
  double ns_median = 0;  // for a packet that came, of one processor's time
  double ns_mad = 0;
  double packets_per_second = 0;  // of one processor
  double of_bounce = 0;           // the median ratio of packets a second
};

// All programs in turn in each sample; calls `report` for each at the end. Throws
// std::runtime_error with what is missing.
void measure_xdp_network(const XdpNetworkOptions& options, std::span<const BenchWire> wires,
                         const std::function<void(const XdpNetworkCost&)>& report);

}  // namespace infold::lab
