// SPDX-License-Identifier: Apache-2.0
//
// A LocalGroup's pretended network: its embedded aggregators with the thread that runs them, and
// one endpoint per rank, joined as the options say. Endpoints outlive it. Packets that they send
// then go into a queue without a reader. Any thread may call the const methods.
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

  // Requires: options in range (local_group.cc checks). Throws std::system_error or bad_alloc.
  explicit LocalNetwork(const LocalGroupOptions& options);

  // Its aggregators outlive every member and tell all of them.
  void note_end(const core::Abort&) override {}
  void note_site_lost(std::uint8_t) override {}
  std::vector<RankEnd> take_ends() { return std::move(ends_); }
  io::EndpointCounters endpoint_counters() const { return aggregators_->endpoint_counters(); }

 private:
  std::vector<RankEnd> ends_;
  std::unique_ptr<site::AggregatorDriver> aggregators_;
};

}  // namespace infold::rank
