// SPDX-License-Identifier: Apache-2.0
//
// Measures what one packet costs the packet program. The kernel runs the loaded program in its own
// test-run, from the frame to the verdict or to the frame that answers. No driver runs, and the
// kernel does not copy the result for each receiver. Before each run a second program resets frame
// and slot; its time is measured alone and subtracted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "study/measure/cost/bench_packets.h"

namespace infold::measure {

struct XdpCost {
  const char* packet = "";   // the name of the case
  const char* meaning = "";  // what the program does with the packet
  double ns_min = 0;         // minimum of the samples, because other load on the machine only adds
                             // to it
  double ns_median = 0;
  double ns_mad = 0;
};

// Calls `report` for each case. An error says why this build or process cannot measure.
base::Result<void> measure_xdp(const BenchWire& wire, std::uint32_t packets,
                               const std::function<void(const XdpCost&)>& report);
// The same for packets without elements and for packets that do not belong to any job. The program
// has a job with many slots.
base::Result<void> measure_xdp_without_elements(std::uint32_t packets,
                                                const std::function<void(const XdpCost&)>& report);

}  // namespace infold::measure
