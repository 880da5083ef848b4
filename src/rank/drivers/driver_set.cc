// SPDX-License-Identifier: Apache-2.0
#include "rank/drivers/driver_set.h"

#include <utility>

#include "base/check.h"

namespace infold::rank {
namespace {

core::WorkerOptions options_for(const core::WorkerOptions& options, core::SiteSet sites,
                                std::size_t driver) {
  core::WorkerOptions own = options;
  own.drives = sites;
  own.seed += driver;
  return own;
}

}  // namespace

std::vector<DrivenSites> one_driver(std::unique_ptr<io::Endpoint> endpoint) {
  std::vector<DrivenSites> shares(1);
  shares.front().endpoint = std::move(endpoint);
  return shares;
}

DriverSet::DriverSet(const core::WorkerOptions& options, std::vector<DrivenSites> shares,
                     std::span<EventSink* const> sinks) {
  CHECK_THAT(shares.size(), ==, sinks.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    drivers_.push_back(std::make_unique<WorkerDriver>(options_for(options, shares[i].sites, i),
                                                      std::move(shares[i].endpoint), *sinks[i]));
  }
}

void DriverSet::start() {
  for (const auto& driver : drivers_) driver->start();
}

std::optional<core::Failure> DriverSet::failure() {
  return drivers_.front()->with_worker(
      [](core::Worker& worker, base::Instant) { return worker.failure(); });
}

std::optional<core::Abort> DriverSet::end_said() {
  return drivers_.front()->with_worker(
      [](core::Worker& worker, base::Instant) { return worker.end_said(); });
}

core::RankRanges DriverSet::waiting_for(core::TransferId id) {
  core::RankRanges missing;
  with_each([&](core::Worker& worker, base::Instant) {
    if (missing.count == 0) missing = worker.waiting_for(id);
  });
  return missing;
}

io::EndpointCounters DriverSet::endpoint_counters() {
  io::EndpointCounters sum;
  for (const auto& driver : drivers_) sum += driver->endpoint_counters();
  return sum;
}

void DriverSet::restart(const core::WorkerOptions& options, std::vector<DrivenSites> shares) {
  CHECK_THAT(shares.size(), >=, 1U);
  CHECK_THAT(shares.size(), <=, drivers_.size());
  while (shares.size() < drivers_.size()) shares.push_back({0, nullptr});
  // All drivers stop first, so that messages between them about the old job's end arrive before the
  // new job begins.
  for (const auto& driver : drivers_) driver->hold();
  for (std::size_t i = 0; i < shares.size(); ++i) {
    drivers_[i]->restart(options_for(options, shares[i].sites, i), std::move(shares[i].endpoint));
  }
}

void DriverSet::wake_callers(std::optional<std::size_t> but) {
  for (std::size_t i = 0; i < drivers_.size(); ++i) {
    if (but != i && drivers_[i]->is_driven_by_caller()) drivers_[i]->wake();
  }
}

// Tells all sites of the end before the first driver waits for confirmations.
void DriverSet::leave() {
  with_each([](core::Worker& worker, base::Instant now) { worker.leave(now); });
  for (const auto& driver : drivers_) driver->leave();
}

void DriverSet::stop() {
  for (const auto& driver : drivers_) driver->stop();
}

}  // namespace infold::rank
