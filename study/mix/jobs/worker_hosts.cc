// SPDX-License-Identifier: Apache-2.0
//
// Distributes a job's workers over racks, then chooses hosts in each rack.
#include "study/mix/jobs/worker_hosts.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace infold::mix {
namespace {

using Counts = std::vector<std::uint16_t>;  // by rack

// Returns the racks ordered by open hosts, most first. Among equal racks the first one comes first.
std::vector<std::size_t> by_room(const Counts& open) {
  std::vector<std::size_t> racks(open.size());
  std::iota(racks.begin(), racks.end(), std::size_t{0});
  std::sort(racks.begin(), racks.end(), [&](std::size_t a, std::size_t b) {
    return open[a] != open[b] ? open[a] > open[b] : a < b;
  });
  return racks;
}

Counts pack(const Counts& open, std::uint16_t workers) {
  Counts shares(open.size());
  std::size_t tightest = open.size();
  for (std::size_t rack = 0; rack < open.size(); ++rack) {
    if (open[rack] < workers) continue;
    if (tightest == open.size() || open[rack] < open[tightest]) tightest = rack;
  }
  if (tightest < open.size()) {
    shares[tightest] = workers;
    return shares;
  }
  for (const std::size_t rack : by_room(open)) {
    shares[rack] = std::min(open[rack], workers);
    workers = static_cast<std::uint16_t>(workers - shares[rack]);
  }
  return shares;
}

Counts spread(const Counts& open, std::uint16_t workers) {
  Counts shares(open.size());
  const std::vector<std::size_t> racks = by_room(open);
  while (workers > 0) {
    for (const std::size_t rack : racks) {
      if (workers == 0 || shares[rack] == open[rack]) continue;
      ++shares[rack];
      --workers;
    }
  }
  return shares;
}

}  // namespace

WorkerHosts::WorkerHosts(const Options& options)
    : options_(options),
      free_(std::size_t{options.racks} * options.hosts_per_rack, options.places_per_host) {}

std::vector<std::uint16_t> WorkerHosts::open_hosts(std::uint16_t rack) const {
  std::vector<std::uint16_t> hosts;
  for (std::uint16_t i = 0; i < options_.hosts_per_rack; ++i) {
    const auto host = static_cast<std::uint16_t>(rack * options_.hosts_per_rack + i);
    if (free_[host] > 0) hosts.push_back(host);
  }
  std::sort(hosts.begin(), hosts.end(), [&](std::uint16_t a, std::uint16_t b) {
    return free_[a] != free_[b] ? free_[a] > free_[b] : a < b;
  });
  return hosts;
}

std::optional<std::vector<std::uint16_t>> WorkerHosts::place(std::uint16_t workers) {
  Counts open;
  for (std::uint16_t rack = 0; rack < options_.racks; ++rack) {
    open.push_back(static_cast<std::uint16_t>(open_hosts(rack).size()));
  }
  if (std::accumulate(open.begin(), open.end(), std::uint32_t{0}) < workers) return std::nullopt;
  const Counts shares =
      options_.strategy == Strategy::packed ? pack(open, workers) : spread(open, workers);
  std::vector<std::uint16_t> taken;
  for (std::uint16_t rack = 0; rack < options_.racks; ++rack) {
    std::vector<std::uint16_t> hosts = open_hosts(rack);
    hosts.resize(shares[rack]);
    std::sort(hosts.begin(), hosts.end());
    taken.insert(taken.end(), hosts.begin(), hosts.end());
  }
  for (const std::uint16_t host : taken) --free_[host];
  return taken;
}

void WorkerHosts::free(const std::vector<std::uint16_t>& hosts) {
  for (const std::uint16_t host : hosts) {
    CHECK_THAT(free_[host], <, options_.places_per_host);
    ++free_[host];
  }
}

}  // namespace infold::mix
