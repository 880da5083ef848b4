// SPDX-License-Identifier: Apache-2.0
//
// Which sites of a plan each of a rank's drivers exchanges packets with. Ranks of one job may have
// different numbers of drivers: where a chunk is summed does not depend on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/worker/worker.h"
#include "plan/plan.h"

namespace infold::plan {

// At most as many as there are sites, each with about the same weight. A site that this rank brings
// is as much work as all others together, so it has a driver to itself. Requires: drivers >= 1.
std::vector<core::SiteSet> driver_shares(const Plan& plan, std::uint32_t drivers,
                                         std::optional<std::uint8_t> own_site = {});

}  // namespace infold::plan
