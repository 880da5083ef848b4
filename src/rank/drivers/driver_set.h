// SPDX-License-Identifier: Apache-2.0
//
// The drivers of one rank: one for each share of the job's sites, with a thread, an endpoint and a
// worker each. What is said to the rank's worker is said to all of them.
//
// Any thread may call any method, except that one thread calls leave(), stop() and the destructor.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/worker/worker.h"
#include "io/endpoint.h"
#include "rank/drivers/worker_driver.h"

namespace infold::rank {

// A driver's share of the sites, and the endpoint that reaches them.
struct DrivenSites {
  core::SiteSet sites = ~core::SiteSet{0};
  std::unique_ptr<io::Endpoint> endpoint;
};

// All sites, over one endpoint.
std::vector<DrivenSites> one_driver(std::unique_ptr<io::Endpoint> endpoint);

class DriverSet {
 public:
  // A driver for each share, with the sink of the same number. Sinks may use all of this, but for
  // take() and take_end(). They outlive it.
  DriverSet(const core::WorkerOptions& options, std::vector<DrivenSites> shares,
            std::span<EventSink* const> sinks);
  ~DriverSet() { stop(); }

  // Once, when the sinks may be called. Throws std::system_error without a thread.
  void start();

  std::size_t size() const { return drivers_.size(); }
  WorkerDriver& operator[](std::size_t driver) { return *drivers_[driver]; }

  // Calls use(worker, now) for the worker of each driver, one after the other.
  template <typename Use>
  void with_each(Use&& use) {
    for (const auto& driver : drivers_) driver->with_worker(use);
  }

  // Why the job has ended, and what is said about it. The same at all workers, soon.
  std::optional<core::Failure> failure();
  std::optional<core::Abort> end_said();
  core::RankRanges waiting_for(core::TransferId id);
  io::EndpointCounters endpoint_counters();

  // For a new job. Drivers beyond the number of shares rest, and keep their endpoints. Requires: at
  // least one share, and no more than there are drivers.
  void restart(const core::WorkerOptions& options, std::vector<DrivenSites> shares);
  // Callers that drive one of them check whether they are done. `but`: a driver to leave out.
  void wake_callers(std::optional<std::size_t> but = {});
  void leave();
  void stop();

 private:
  std::vector<std::unique_ptr<WorkerDriver>> drivers_;
};

}  // namespace infold::rank
