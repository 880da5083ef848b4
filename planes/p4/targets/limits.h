// SPDX-License-Identifier: Apache-2.0
//
// The limits that differ between devices.
#pragma once

#include <cstdint>
#include <string>

#include "core/site_record.h"
#include "planes/p4/program_names.h"

namespace infold::p4 {

// A pipe is a part of a chip with tables and registers of its own. All sums of a device are made in
// its first one. The other ones forward packets like any Ethernet switch.
struct TargetLimits {
  core::SiteRecord record;
  std::uint32_t pipes = 1;
  std::uint32_t ports_of_pipe = 0;
  std::uint32_t port_max = 0;       // the highest port of the first pipe that leads to stations
  const char* program_file = "";    // the file from the compiler that the device takes
  const char* registers_hint = "";  // why a device may not read and write registers

  bool leads_to_stations(std::uint32_t port) const {
    return port / ports_of_pipe < pipes && port % ports_of_pipe <= port_max;
  }
  bool is_in_first_pipe(std::uint32_t port) const { return port < ports_of_pipe; }
};

const TargetLimits& limits_of(TargetKind target);
// Returns the ports that lead to stations, such as "0 to 67, 128 to 195".
std::string ports_text(const TargetLimits& limits);

}  // namespace infold::p4
