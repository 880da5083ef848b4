// SPDX-License-Identifier: Apache-2.0
#include "rank/session/local_network.h"

#include <algorithm>
#include <utility>

#include "io/lossy_endpoint.h"
#include "io/memory_endpoint.h"
#include "plan/plan.h"

namespace infold::rank {
namespace {

// The headers of IPv6 and UDP, which a real network subtracts from the MTU.
constexpr int kHeaderBytes = 48;
// Paths in memory hold only a few packets. This many slots keep both ends of a path busy, and an
// aggregator's memory near 4 MB.
constexpr std::uint16_t kSmallSlots = 32;
constexpr std::uint16_t kBulkSlots = 96;
constexpr std::uint16_t kSlots = kSmallSlots + kBulkSlots;

plan::Plan plan_of(const LocalGroupOptions& options) {
  plan::Plan plan;
  plan.world = static_cast<std::uint16_t>(options.world);
  plan.datagram_bytes_max = static_cast<std::uint32_t>(options.mtu_bytes - kHeaderBytes);
  plan.brief_results = true;
  plan.small_slots = kSmallSlots;
  plan.bulk_slots = kBulkSlots;
  std::vector<core::RankRange> racks;
  for (int first = 0; options.rack_size > 0 && first < options.world; first += options.rack_size) {
    const int ranks = std::min(options.rack_size, options.world - first);
    racks.push_back({static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(ranks)});
  }
  for (const int weight : options.site_weights) {
    plan.trees.push_back(plan::tree_of(plan.world, {}, racks));
    plan.trees.back().weight = static_cast<std::uint16_t>(weight);
  }
  return plan;
}

class Builder {
 public:
  explicit Builder(const LocalGroupOptions& options)
      : options_(options),
        plan_(plan_of(options)),
        // Every rank may have packets of all its slots in flight, and a repeat of each.
        switch_(std::make_unique<io::MemoryEndpoint>(io::MemoryEndpointOptions{
            plan_.datagram_bytes_max, 2 * kSlots * plan_.world * plan_.trees.size()})) {
    for (std::size_t rank = 0; rank < plan_.world; ++rank) {
      ranks_.push_back(std::make_unique<io::MemoryEndpoint>(
          io::MemoryEndpointOptions{plan_.datagram_bytes_max, 2 * kSlots * plan_.trees.size()}));
    }
    for (std::size_t tree = 0; tree < plan_.trees.size(); ++tree) add_nodes(tree);
  }

  std::vector<LocalNetwork::RankEnd> take_ends() {
    std::vector<LocalNetwork::RankEnd> ends(plan_.world);
    for (std::uint16_t rank = 0; rank < plan_.world; ++rank) {
      ends[rank].worker = plan::worker_options(plan_, rank);
      ends[rank].worker.seed = options_.faults.seed * 0x9E3779B9U + rank;
      ends[rank].endpoint = lossy(std::move(ranks_[rank]), rank + 1U);
    }
    return ends;
  }
  std::unique_ptr<site::AggregatorDriver> make_driver() {
    return std::make_unique<site::AggregatorDriver>(std::move(nodes_),
                                                    lossy(std::move(switch_), 0));
  }

 private:
  // An aggregator is a neighbour of its children, and all aggregators share one endpoint.
  void add_nodes(std::size_t tree) {
    const std::vector<plan::Aggregator>& aggregators = plan_.trees[tree].aggregators;
    const std::size_t first = nodes_.size();
    nodes_.resize(first + aggregators.size());
    for (std::size_t i = 0; i < aggregators.size(); ++i) {
      site::AggregatorDriver::Node& node = nodes_[first + i];
      node.options = plan::aggregator_options(plan_, tree, static_cast<std::uint16_t>(i));
      node.small_slots = plan_.small_slots;
      for (const plan::Child& child : aggregators[i].children) {
        io::MemoryEndpoint& below = child.is_rank() ? *ranks_[child.ranks.first] : *switch_;
        const auto [to_node, to_child] = io::MemoryEndpoint::connect(below, *switch_);
        node.workers.push_back(to_child);
        if (!child.is_rank()) nodes_[first + child.aggregator].parent = to_node;
      }
    }
  }

  std::unique_ptr<io::Endpoint> lossy(std::unique_ptr<io::Endpoint> endpoint,
                                      std::size_t index) const {
    const NetworkFaults& faults = options_.faults;
    if (faults.loss + faults.duplication + faults.reordering <= 0) return endpoint;
    return std::make_unique<io::LossyEndpoint>(
        std::move(endpoint), io::LossyOptions{faults.loss, faults.duplication, faults.reordering,
                                              faults.seed * 1'000'003U + index});
  }

  const LocalGroupOptions& options_;
  const plan::Plan plan_;
  std::unique_ptr<io::MemoryEndpoint> switch_;
  std::vector<std::unique_ptr<io::MemoryEndpoint>> ranks_;
  std::vector<site::AggregatorDriver::Node> nodes_;
};

}  // namespace

LocalNetwork::LocalNetwork(const LocalGroupOptions& options) {
  Builder builder(options);
  ends_ = builder.take_ends();
  aggregators_ = builder.make_driver();
}

}  // namespace infold::rank
