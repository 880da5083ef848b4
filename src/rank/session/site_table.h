// SPDX-License-Identifier: Apache-2.0
//
// What the hosts of a job have said, as one rank knows it: the job's plan, and where each of its
// sites is. Pure. Takes any terms that a control plane's answers can become
// (control/client/job_answers.h), also such as do not go together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infold/join_options.h>
#include <infold/result.h>

#include "control/registrar.h"
#include "io/address/socket_address.h"
#include "plan/plan.h"

namespace infold::rank {

// What one control plane has answered. Borrows.
struct HostTerms {
  const control::JobTerms* terms = nullptr;
  io::SocketAddress host;  // whose sites have ports alone
};

struct SiteTable {
  plan::Plan plan;
  std::uint16_t rank = 0;  // whose table it is
  std::vector<io::SocketAddress> addresses;
  std::vector<std::string> names;         // for errors
  std::vector<std::uint8_t> first_sites;  // of each host
  std::optional<std::uint8_t> own;        // the site that this rank brings
};

// `datagram_bytes_max` and slots: what this rank can. `own_site`: as it was said to the first host.
struct SiteTableInput {
  const JoinOptions& options;
  std::uint32_t datagram_bytes_max = 0;
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
  std::optional<io::SocketAddress> own_site = {};
};

Result<SiteTable> find_sites(const SiteTableInput& input, std::span<const HostTerms> hosts);

// Again once groups are settled, which then are the same at all hosts: what sums below each site.
void settle(std::span<const HostTerms> hosts, SiteTable& table);

}  // namespace infold::rank
