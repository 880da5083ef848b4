// SPDX-License-Identifier: Apache-2.0
//
// The limits that differ between devices.
#pragma once

#include <cstdint>

#include "core/site_record.h"
#include "planes/p4/program_names.h"

namespace infold::p4 {

struct TargetLimits {
  core::SiteRecord record;
  std::uint32_t port_max = 0;     // the highest port that leads to stations
  const char* program_file = "";  // the file from the compiler that the device takes
};

const TargetLimits& limits_of(TargetKind target);

}  // namespace infold::p4
