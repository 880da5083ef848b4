// SPDX-License-Identifier: Apache-2.0
//
// The limits that differ between the devices that run the program.
#pragma once

#include <cstdint>

#include "core/site_record.h"
#include "p4/program_names.h"

namespace infold::p4 {

struct TargetLimits {
  core::SiteRecord record;
  std::uint32_t port_max = 0;     // of the device's ports to stations
  const char* program_file = "";  // what the device takes, as the compiler writes it
};

const TargetLimits& limits_of(TargetKind target);

}  // namespace infold::p4
