// SPDX-License-Identifier: Apache-2.0
//
// Divides the sites of a plan among the drivers of a rank. Each driver exchanges packets with its
// own sites only. Ranks of one job may have different numbers of drivers, because where a chunk is
// summed does not depend on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/worker/worker.h"
#include "plan/plan.h"

namespace infold::plan {

// Returns one set of sites for each driver, but at most as many sets as there are sites. Their
// weights are about equal. A site in this rank's own process is as much work as all others
// together, so it gets a driver to itself. Requires: drivers >= 1.
std::vector<core::SiteSet> driver_shares(const Plan& plan, std::uint32_t drivers,
                                         std::optional<std::uint8_t> own_site = {});

}  // namespace infold::plan
