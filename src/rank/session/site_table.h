// SPDX-License-Identifier: Apache-2.0
//
// Makes one rank's table from the terms of all join servers of a job: the job's plan, and the
// address of each site. Pure functions. They take any terms that answers of join servers can
// contain (join/client/job_answers.h), even terms that contradict each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infold/join_options.h>
#include <infold/result.h>

#include "io/address/socket_address.h"
#include "join/registrar.h"
#include "plan/plan.h"

namespace infold::rank {

// One join server's terms, borrowed.
struct HostTerms {
  const join::JobTerms* terms = nullptr;
  io::SocketAddress host;  // completes site addresses that are only ports
};

struct SiteTable {
  plan::Plan plan;
  std::uint16_t rank = 0;  // the rank that this table is for
  std::vector<io::SocketAddress> addresses;
  std::vector<std::string> names;         // for errors
  std::vector<std::uint8_t> first_sites;  // the first site of each join server
  std::optional<std::uint8_t> own;        // the site that this rank brings
};

// `datagram_bytes_max` and the slots are this rank's limits. `own_site` is the same as in the hello
// to the first host.
struct SiteTableInput {
  const JoinOptions& options;
  std::uint32_t datagram_bytes_max = 0;
  std::uint16_t small_slots = 0;
  std::uint16_t bulk_slots = 0;
  std::optional<io::SocketAddress> own_site = {};
};

Result<SiteTable> find_sites(const SiteTableInput& input, std::span<const HostTerms> hosts);

// Puts the aggregators below each site. Requires: the groups are settled, and the same at all
// hosts.
void settle(std::span<const HostTerms> hosts, SiteTable& table);

}  // namespace infold::rank
