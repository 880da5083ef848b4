// SPDX-License-Identifier: Apache-2.0
//
// Hashes a job's sites, with their order and weights, into a number that ranks compare before they
// send (spec J-022).
#pragma once

#include <cstdint>
#include <span>

#include "base/digest.h"
#include "core/worker/worker.h"

namespace infold::core {

inline std::uint64_t site_order(std::span<const SiteOptions> sites) {
  base::Digest digest;
  for (const SiteOptions& site : sites) {
    digest.add(std::uint64_t{site.job} << 48 | std::uint64_t{site.weight} << 32 | site.epoch);
  }
  return digest.value();
}

}  // namespace infold::core
