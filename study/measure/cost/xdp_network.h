// SPDX-License-Identifier: Apache-2.0
//
// Measures how long a single processor needs to do everything for a packet. It sends the packet
// from a rank's socket in a lab, runs a packet program at the switch's port, and receives the
// answers. The aggregator is compared with a program that only sends packets back, and with one
// that drops them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "study/measure/cost/bench_packets.h"

namespace infold::measure {

struct XdpNetworkOptions {
  std::uint16_t world = 8;
  std::uint32_t samples = 11;
  std::uint32_t rounds = 300;  // in each sample: a train from each rank, and its answers
};

struct XdpNetworkCost {
  std::string program;   // "drop", "bounce", or the wire format that is summed
  double ns_median = 0;  // one processor's time, for each packet that a rank sends
  double ns_mad = 0;
  double packets_per_second = 0;  // for one processor
  double of_bounce = 0;           // the median ratio of packets per second
};

// Runs all programs in turn in each sample. Calls `report` for each program at the end. Throws
// std::runtime_error that says what is missing.
void measure_xdp_network(const XdpNetworkOptions& options, std::span<const BenchWire> wires,
                         const std::function<void(const XdpNetworkCost&)>& report);

}  // namespace infold::measure
