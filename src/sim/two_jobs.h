// SPDX-License-Identifier: Apache-2.0
//
// Jobs that share links, for tests. They have the real workers and aggregators and one switch. Rank
// H of every job is on host H, behind that host's link. Tensors follow each other without end.
// Values are not compared: every packet is full of zeros, so that a minute of virtual time takes
// seconds.
#pragma once

#include <cstring>
#include <deque>

#include "numeric/codec.h"
#include "sim/behaviour.h"
#include "sim/network/faults.h"
#include "sim/nodes/aggregator_node.h"

namespace infold::sim {

struct SharedLinks {
  struct JobPlan {
    std::uint16_t world = 4;
    std::uint64_t elements = kBucketElements;
    base::Duration start;
  };
  LinkPath path;
  std::vector<JobPlan> jobs;
  base::Duration jitter_max;  // of each packet towards the switch, as hosts have it
  std::uint64_t seed = 1;     // for the jitter, and for each rank's start, within a millisecond
};

class JobsOnSharedLinks final : public Observer {
 public:
  explicit JobsOnSharedLinks(const SharedLinks& plan)
      : plan_(plan), random_(base::mix64(plan.seed)), network_(options()) {
    std::uint16_t hosts = 0;
    for (const auto& job : plan.jobs) hosts = std::max(hosts, job.world);
    for (std::uint16_t host = 0; host < hosts; ++host) add_host();
    for (std::size_t job = 0; job < plan.jobs.size(); ++job) add_job(job);
    network_.add_observer(this);
    network_.start();
  }

  void run_until(base::Instant limit) {
    while (network_.step(limit)) {
    }
  }

  // Contributions of each job that have passed host 0's link.
  std::uint64_t passed(std::size_t job) const { return passed_[job]; }
  const core::WorkerTeam& worker(std::size_t job, std::size_t rank) const {
    return workers_[job][rank]->worker();
  }

  void on_send(base::Instant, const Path&, std::span<const std::byte>, std::uint64_t) override {}
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}
  void on_arrival(base::Instant, const Path& path, std::span<const std::byte> bytes) override {
    if (bytes.size() < static_cast<std::size_t>(kPayloadBytes)) return;
    for (std::size_t job = 0; job < rank0_.size(); ++job) {
      if (path.source == rank0_[job]) ++passed_[job];
    }
  }

 private:
  static constexpr std::uint32_t kPackets = 1U << 17;
  static constexpr std::uint16_t kSmallSlots = 64;

  struct Host {
    NodeId up = 0;
    std::optional<NodeId> jitter;
    NodeId down = 0;
    const Link* uplink = nullptr;
  };

  static NetworkOptions options() {
    return {.node_count_max = 256,
            .packet_count_max = kPackets,
            .parcel_count_max = 2 * kPackets,
            .packet_bytes_max = 1'472};
  }

  static const core::TensorCodec& zeros() {
    static const core::TensorCodec codec = {
        .element_bytes = 4,
        .encode =
            [](const void*, const std::byte*, core::ChunkRange range, const std::uint16_t*,
               std::byte* exponents, std::byte* elements) {
              std::memset(exponents, 0, static_cast<std::size_t>(elements - exponents));
              std::memset(elements, 0, range.elements * std::size_t{4});
              return false;
            },
        .decode = [](void*, std::byte*, core::ChunkRange, const core::TensorCodec::Received&) {}};
    return codec;
  }

  void add_host() {
    const LinkOptions link = {.bits_per_second = plan_.path.bits_per_second,
                              .delay = plan_.path.round_trip / 2,
                              .queue_bytes_max = 1 << 20};
    Host host;
    auto up = std::make_unique<Link>(link, network_.node_count());
    host.uplink = up.get();
    host.up = network_.add_node(std::move(up));
    if (plan_.jitter_max.ns > 0) {
      const FaultOptions late{.jitter_max = plan_.jitter_max};
      host.jitter =
          network_.add_node(std::make_unique<Faults>(late, random_.next(), network_.node_count()));
    }
    host.down = network_.add_node(std::make_unique<Link>(link, network_.node_count()));
    hosts_.push_back(host);
  }

  std::uint16_t bulk_slots() const {
    return static_cast<std::uint16_t>(std::clamp(4 * plan_.path.frames(), 448.0, 4e4));
  }

  plan::Plan plan_of(std::size_t job) const {
    plan::Plan plan;
    plan.world = plan_.jobs[job].world;
    plan.elements_max = 352;
    plan.small_slots = kSmallSlots;
    plan.bulk_slots = bulk_slots();
    plan.trees = {plan::flat_tree(plan.world)};
    plan.trees.front().job = static_cast<std::uint16_t>(job);
    plan.trees.front().epoch = 1;
    return plan;
  }

  core::WorkerOptions worker_options(const plan::Plan& plan, std::uint16_t rank) {
    core::WorkerOptions options = plan::worker_options(plan, rank);
    options.seed = random_.next();
    return options;
  }

  // More tensors than a minute needs. Each is sent when the previous one is done.
  std::deque<Call> calls_of(const SharedLinks::JobPlan& plan) {
    Call call;
    call.at = base::Instant{} + plan.start +
              base::microseconds(static_cast<std::int64_t>(random_.below(1'000)));
    call.request.layout = {core::WireFormat::bfp32, core::DataType::f32};
    call.request.elements = plan.elements;
    call.request.codec = &zeros();
    call.after_previous = true;
    return std::deque<Call>(200, call);
  }

  void add_job(std::size_t job) {
    const SharedLinks::JobPlan& plan = plan_.jobs[job];
    const plan::Plan sums = plan_of(job);
    auto aggregator = std::make_unique<AggregatorNode>(plan::aggregator_options(sums, 0, 0));
    AggregatorNode& station = *aggregator;
    const NodeId above = network_.add_node(std::move(aggregator));
    std::vector<PathId> to_workers;
    auto& workers = workers_.emplace_back();
    for (std::uint16_t rank = 0; rank < plan.world; ++rank) {
      auto worker =
          std::make_unique<WorkerNode>(WorkerNodeOptions{.worker = worker_options(sums, rank),
                                                         .calls = calls_of(plan),
                                                         .pauses = {},
                                                         .ending = {}});
      workers.push_back(worker.get());
      const NodeId below = network_.add_node(std::move(worker));
      if (rank == 0) rank0_.push_back(below);
      const Host& host = hosts_[rank];
      to_workers.push_back(add_path(above, {host.down}, below));
      std::vector<NodeId> upwards = {host.up};
      if (host.jitter) upwards.push_back(*host.jitter);
      workers.back()->connect({add_path(below, upwards, above)}, host.uplink, &network_);
    }
    station.connect(to_workers, std::nullopt);
    passed_.push_back(0);
  }

  PathId add_path(NodeId source, const std::vector<NodeId>& between, NodeId destination) {
    Path path;
    path.source = source;
    for (const NodeId node : between) path.append(node);
    path.append(destination);
    return network_.add_path(path);
  }

  SharedLinks plan_;
  base::Prng random_;
  Network network_;
  std::vector<Host> hosts_;
  std::vector<std::vector<WorkerNode*>> workers_;  // by job and rank
  std::vector<NodeId> rank0_;                      // by job
  std::vector<std::uint64_t> passed_;              // by job
};

}  // namespace infold::sim
