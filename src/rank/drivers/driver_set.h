// SPDX-License-Identifier: Apache-2.0
//
// The drivers of one rank: one for each share of the job's sites. Each has a thread, an endpoint
// and a worker. An instruction to the rank's worker goes to the workers of all drivers.
//
// Any thread may call any method, but leave(), stop() and the destructor are for one thread.
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

// One driver's share, with all sites on one endpoint.
std::vector<DrivenSites> one_driver(std::unique_ptr<io::Endpoint> endpoint);

class DriverSet {
 public:
  // Makes a driver for each share, with the sink of the same number. Sinks must outlive this
  // object. They may call its methods, but not from take() or take_end().
  DriverSet(const core::WorkerOptions& options, std::vector<DrivenSites> shares,
            std::span<EventSink* const> sinks);
  ~DriverSet() { stop(); }

  // Call it once, when the sinks may be called. Throws std::system_error if no thread can be
  // started.
  void start();

  std::size_t size() const { return drivers_.size(); }
  WorkerDriver& operator[](std::size_t driver) { return *drivers_[driver]; }

  // Calls use(worker, now) for the worker of each driver, one after the other.
  template <typename Use>
  void with_each(Use&& use) {
    for (const auto& driver : drivers_) driver->with_worker(use);
  }

  // Returns why the job has ended. end_said() returns the message that tells other parties. The
  // workers may differ for a moment, and agree soon.
  std::optional<core::Failure> failure();
  std::optional<core::Abort> end_said();
  core::RankRanges waiting_for(core::TransferId id);
  io::EndpointCounters endpoint_counters();

  // Prepares for a new job. Drivers beyond the number of shares rest, and keep their endpoints.
  // Requires: at least one share, and no more shares than drivers.
  void restart(const core::WorkerOptions& options, std::vector<DrivenSites> shares);
  // Makes callers that drive a driver check whether their calls are done. `but` is a driver to
  // leave out.
  void wake_callers(std::optional<std::size_t> but = {});
  void leave();
  void stop();

 private:
  std::vector<std::unique_ptr<WorkerDriver>> drivers_;
};

}  // namespace infold::rank
