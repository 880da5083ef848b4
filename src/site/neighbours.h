// SPDX-License-Identifier: Apache-2.0
//
// Who sends packets to an aggregator of a job, and from which addresses. These are
// plain values.
#pragma once

#include <vector>

#include "core/aggregator/aggregator.h"
#include "io/address/socket_address.h"
#include "join/registrar.h"

namespace infold::site {

struct Neighbours {
  io::SocketAddress parent = {};  // includes the port; unset: no parent
  // For each worker, the host that sends its packets. If it is unset or missing, any host may.
  std::vector<io::SocketAddress> workers = {};
};

// Returns the source addresses that the join connections of ranks and racks vouch for. Requires:
// `options` describes the aggregator of this job (aggregator_options).
std::vector<io::SocketAddress> worker_sources(const join::JobTerms& terms,
                                              const core::AggregatorOptions& options);

}  // namespace infold::site
