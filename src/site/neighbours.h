// SPDX-License-Identifier: Apache-2.0
//
// The senders of packets to an aggregator of a job, and their addresses. Plain
// values.
#pragma once

#include <vector>

#include "control/registrar.h"
#include "core/aggregator/aggregator.h"
#include "io/address/socket_address.h"

namespace infold::site {

struct Neighbours {
  io::SocketAddress parent = {};  // with its port; unset: no parent
  // By worker, the host that sends its packets. Unset or missing: any host.
  std::vector<io::SocketAddress> workers = {};
};

// The source addresses that the control connections of ranks and racks vouch for.
// Requires: these are the options of this job's aggregator (aggregator_options).
std::vector<io::SocketAddress> worker_sources(const control::JobTerms& terms,
                                              const core::AggregatorOptions& options);

}  // namespace infold::site
