// SPDX-License-Identifier: Apache-2.0
//
// What the hosts of a job have said, as one worker's options: which sites there are, with what
// weights and limits, and whom this rank is to each of them. Pure. Takes any terms that a control
// plane's answers can become (control/client/job_answers.h), also such as do not go together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infold/join_options.h>
#include <infold/result.h>

#include "control/registrar.h"
#include "core/worker/worker.h"
#include "io/address/socket_address.h"

namespace infold::rank {

// What one control plane has answered. Borrows.
struct HostTerms {
  const control::JobTerms* terms = nullptr;
  io::SocketAddress host;  // whose sites have ports alone
};

struct SitePlan {
  std::vector<core::SiteOptions> sites;
  std::vector<io::SocketAddress> addresses;
  std::vector<std::string> names;         // for errors
  std::vector<std::uint8_t> first_sites;  // of each host
  std::optional<std::uint8_t> own;        // the site that this rank brings
  core::ChunkLimits limits;
  core::FormatSet formats;
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
};

// `limits` and slots: what this rank can. `own_site`: as it was said to the first host.
struct SitePlanInput {
  const JoinOptions& options;
  core::ChunkLimits limits;
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
  std::optional<io::SocketAddress> own_site = {};
};

Result<SitePlan> plan_sites(const SitePlanInput& input, std::span<const HostTerms> hosts);

// Once groups are settled, which are the same at all hosts. To a site this rank, or its host group,
// is one of those that meet there: in its rack, or besides racks, or at a rank's site, which knows
// none.
std::uint8_t party_at(std::span<const HostTerms> hosts, const SitePlan& plan, std::size_t site,
                      std::uint32_t rank);
// Which worker this rank is at each site.
void place_at_sites(std::span<const HostTerms> hosts, const SitePlan& plan,
                    core::WorkerOptions& worker);

}  // namespace infold::rank
