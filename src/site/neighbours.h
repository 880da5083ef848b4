// SPDX-License-Identifier: Apache-2.0
//
// Who sends packets to an aggregator of a job, and from where. Plain values.
#pragma once

#include <vector>

#include "control/registrar.h"
#include "core/aggregator/aggregator.h"
#include "io/address/socket_address.h"

namespace infold::site {

struct Neighbours {
  io::SocketAddress parent = {};  // with its port; unset: none
  // By worker, the host that its packets come from. Unset, or not in the list: anywhere.
  std::vector<io::SocketAddress> workers = {};
};

// What the connections of the job's ranks and racks vouch for.
// Requires: these are the options of this job's aggregator (aggregator_options).
std::vector<io::SocketAddress> worker_sources(const control::JobTerms& terms,
                                              const core::AggregatorOptions& options);

}  // namespace infold::site
