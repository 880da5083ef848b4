// SPDX-License-Identifier: Apache-2.0
//
// The terms of all control planes of a job, as one rank's table: the job's plan, and the address of
// each site. Pure. Takes any terms that a control plane's answers can become
// (control/client/job_answers.h), also terms that contradict each other.
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

// One control plane's terms. Borrows.
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

// `datagram_bytes_max` and slots: this rank's limits. `own_site`: as in the first host's hello.
struct SiteTableInput {
  const JoinOptions& options;
  std::uint32_t datagram_bytes_max = 0;
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
  std::optional<io::SocketAddress> own_site = {};
};

Result<SiteTable> find_sites(const SiteTableInput& input, std::span<const HostTerms> hosts);

// Once groups are settled, and the same at all hosts: puts the aggregators below each site.
void settle(std::span<const HostTerms> hosts, SiteTable& table);

}  // namespace infold::rank
