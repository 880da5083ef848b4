// SPDX-License-Identifier: Apache-2.0
//
// What one packet costs the packet program, measured by the kernel's own test-run on the loaded
// program: from the frame to the verdict, or to the frame that answers. No driver, no copy for each
// receiver. Before each run a second program puts frame and slot back; what that costs is measured
// alone and subtracted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "lab/measure/bench_packets.h"

namespace infold::lab {

struct XdpCost {
  const char* packet = "";   // which of the cases
  const char* meaning = "";  // what the program does with it
  double ns_min = 0;         // of the samples; others who use the machine only add to it
  double ns_median = 0;
  double ns_mad = 0;
};

// Calls `report` for each case. An error says why this build or process cannot measure.
base::Result<void> measure_xdp(const BenchWire& wire, std::uint32_t packets,
                               const std::function<void(const XdpCost&)>& report);
// The same of packets without elements and of those that no job takes, beside a job of many slots.
base::Result<void> measure_xdp_control(std::uint32_t packets,
                                       const std::function<void(const XdpCost&)>& report);

}  // namespace infold::lab
