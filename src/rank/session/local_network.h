// SPDX-License-Identifier: Apache-2.0
//
// The simulated network of a LocalGroup: embedded aggregators with the thread that runs them, and
// one endpoint for each rank, joined as the options say. Endpoints outlive the network; the packets
// that they send afterwards go into a queue that nobody reads. Any thread may call the const
// methods.
#pragma once

#include <memory>
#include <vector>

#include <infold/local_group.h>

#include "core/worker/worker.h"
#include "io/endpoint.h"
#include "rank/membership.h"
#include "site/aggregator_driver.h"

namespace infold::rank {

class LocalNetwork final : public Membership {
 public:
  // One rank's end of the network.
  struct RankEnd {
    core::WorkerOptions worker;
    std::unique_ptr<io::Endpoint> endpoint;
  };

  // Requires: the options are in range (local_group.cc checks). Throws std::system_error or
  // std::bad_alloc.
  explicit LocalNetwork(const LocalGroupOptions& options);

  // Does nothing, because the aggregators outlive every member and tell all of them.
  void note_end(const core::Abort&) override {}
  void note_site_lost(std::uint8_t) override {}
  std::vector<RankEnd> take_ends() { return std::move(ends_); }
  io::EndpointCounters endpoint_counters() const { return aggregators_->endpoint_counters(); }

 private:
  std::vector<RankEnd> ends_;
  std::unique_ptr<site::AggregatorDriver> aggregators_;
};

}  // namespace infold::rank
