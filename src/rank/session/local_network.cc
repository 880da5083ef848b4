// SPDX-License-Identifier: Apache-2.0
//
// Each site is one aggregator over all ranks, or one over racks and one per rack.
#include "rank/session/local_network.h"

#include <algorithm>
#include <utility>

#include "io/lossy_port.h"
#include "io/memory_port.h"
#include "numeric/codec.h"

namespace infold::rank {
namespace {

// IPv6 and UDP, which a real network would take from the MTU.
constexpr int kHeaderBytes = 48;
// In-memory paths hold few packets: this many slots keep both ends of one busy, and an
// aggregator's memory near 4 MB.
constexpr std::uint16_t kSmallSlots = 32;
constexpr std::uint16_t kBulkSlots = 96;
constexpr std::uint16_t kSlots = kSmallSlots + kBulkSlots;

class Builder {
 public:
  explicit Builder(const LocalGroupOptions& options)
      : options_(options),
        world_(static_cast<std::size_t>(options.world)),
        // Every rank may have all its slots under way at once, and once more for repeats.
        switch_(std::make_unique<io::MemoryPort>(io::MemoryPortOptions{
            datagram_bytes(), 2 * kSlots * world_ * options.site_weights.size()})) {
    for (std::size_t rank = 0; rank < world_; ++rank) {
      ranks_.push_back(std::make_unique<io::MemoryPort>(
          io::MemoryPortOptions{datagram_bytes(), 2 * kSlots * options.site_weights.size()}));
    }
    seats_.resize(world_);
    for (std::size_t rank = 0; rank < world_; ++rank) seats_[rank].worker = worker_options(rank);
  }

  void add_site(std::uint16_t weight) {
    if (options_.rack_size == 0) {
      add_node(0, world_, weight);
      return;
    }
    const auto rack_size = static_cast<std::size_t>(options_.rack_size);
    site::AggregatorDriver::Node spine = new_node();
    for (std::size_t first = 0; first < world_; first += rack_size) {
      const std::size_t ranks = std::min(rack_size, world_ - first);
      site::AggregatorDriver::Node& rack = add_node(first, ranks, weight);
      const auto [to_spine, to_rack] = io::MemoryPort::connect(*switch_, *switch_);
      rack.parent = to_spine;
      rack.options.parent_worker = static_cast<std::uint8_t>(spine.workers.size());
      spine.workers.push_back(to_rack);
      spine.options.add_aggregator(range(first, ranks));
    }
    nodes_.push_back(std::move(spine));
  }

  std::vector<LocalNetwork::Seat> take_seats() {
    for (std::size_t rank = 0; rank < world_; ++rank) {
      seats_[rank].port = lossy(std::move(ranks_[rank]), rank + 1);
    }
    return std::move(seats_);
  }
  std::unique_ptr<site::AggregatorDriver> make_driver() {
    return std::make_unique<site::AggregatorDriver>(std::move(nodes_),
                                                    lossy(std::move(switch_), 0));
  }

 private:
  static core::RankRange range(std::size_t first, std::size_t count) {
    return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(count)};
  }

  std::size_t datagram_bytes() const {
    return static_cast<std::size_t>(options_.mtu_bytes - kHeaderBytes);
  }

  core::WorkerOptions worker_options(std::size_t rank) const {
    core::WorkerOptions worker;
    worker.rank = static_cast<std::uint16_t>(rank);
    worker.world = static_cast<std::uint16_t>(world_);
    worker.limits.datagram_bytes_max = static_cast<std::uint32_t>(datagram_bytes());
    worker.limits.tree = options_.rack_size != 0;
    worker.small_slots = kSmallSlots;
    worker.bulk_slots = kBulkSlots;
    worker.seed = options_.faults.seed * 0x9E3779B9U + rank;
    return worker;
  }

  site::AggregatorDriver::Node new_node() const {
    site::AggregatorDriver::Node node;
    node.options.slot_count = kSlots;
    node.options.world = static_cast<std::uint32_t>(world_);
    node.options.datagram_bytes_max = static_cast<std::uint32_t>(datagram_bytes());
    node.options.arithmetic = &numeric::arithmetic();
    node.small_slots = kSmallSlots;
    return node;
  }

  // An aggregator with these ranks as its direct workers.
  site::AggregatorDriver::Node& add_node(std::size_t first, std::size_t ranks,
                                         std::uint16_t weight) {
    site::AggregatorDriver::Node& node = nodes_.emplace_back(new_node());
    for (std::size_t rank = first; rank < first + ranks; ++rank) {
      node.workers.push_back(io::MemoryPort::connect(*ranks_[rank], *switch_).second);
      node.options.workers.push_back(range(rank, 1));
      core::SiteOptions& site = seats_[rank].worker.sites.emplace_back();
      site.worker = static_cast<std::uint8_t>(rank - first);
      site.weight = weight;
      site.takes_sparse = true;
    }
    return node;
  }

  std::unique_ptr<io::DatagramPort> lossy(std::unique_ptr<io::DatagramPort> port,
                                          std::size_t index) const {
    const NetworkFaults& faults = options_.faults;
    if (faults.loss + faults.duplication + faults.reordering <= 0) return port;
    return std::make_unique<io::LossyPort>(
        std::move(port), io::LossyOptions{faults.loss, faults.duplication, faults.reordering,
                                          faults.seed * 1'000'003U + index});
  }

  const LocalGroupOptions& options_;
  std::size_t world_;
  std::unique_ptr<io::MemoryPort> switch_;
  std::vector<std::unique_ptr<io::MemoryPort>> ranks_;
  std::vector<LocalNetwork::Seat> seats_;
  std::vector<site::AggregatorDriver::Node> nodes_;
};

}  // namespace

LocalNetwork::LocalNetwork(const LocalGroupOptions& options) {
  Builder builder(options);
  for (const int weight : options.site_weights) {
    builder.add_site(static_cast<std::uint16_t>(weight));
  }
  seats_ = builder.take_seats();
  aggregators_ = builder.make_driver();
}

}  // namespace infold::rank
