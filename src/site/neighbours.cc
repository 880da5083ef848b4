// SPDX-License-Identifier: Apache-2.0
#include "site/neighbours.h"

#include <cstddef>

#include "join/job_plan.h"

namespace infold::site {
namespace {

io::SocketAddress at(const std::vector<io::SocketAddress>& list, std::size_t index) {
  return index < list.size() ? list[index] : io::SocketAddress();
}

}  // namespace

// A rack's switch sends on behalf of its ranks, and the first rank of a host group on behalf of the
// group.
std::vector<io::SocketAddress> worker_sources(const join::JobTerms& terms,
                                              const core::AggregatorOptions& options) {
  std::vector<io::SocketAddress> sources;
  for (const core::RankRange ranks : options.workers) {
    const core::RankRange* const rack =
        terms.below ? nullptr : core::find_range(terms.racks, ranks.first);
    sources.push_back(rack == nullptr ? at(terms.rank_sources, ranks.first)
                                      : at(terms.rack_sources,
                                           static_cast<std::size_t>(rack - terms.racks.data())));
  }
  return sources;
}

}  // namespace infold::site
