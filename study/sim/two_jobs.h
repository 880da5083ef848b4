// SPDX-License-Identifier: Apache-2.0
//
// Jobs that share links, for tests, with the real workers and aggregators and one switch. Rank H of
// every job is on host H, behind that host's link. Tensors follow each other without end. Values
// are not compared: every packet is full of zeros, so that a minute of virtual time takes seconds.
#pragma once

#include <deque>
#include <numeric>

#include "study/sim/behaviour.h"
#include "study/sim/cluster/cluster.h"
#include "study/sim/nodes/zeros.h"

namespace infold::sim {

struct SharedLinks {
  struct JobPlan {
    std::uint16_t world = 4;
    std::uint64_t elements = kBucketElements;
    base::Duration start;
  };
  LinkPath path;
  std::vector<JobPlan> jobs;
  base::Duration jitter_max;  // for each packet towards the switch, as real hosts cause it
  std::uint64_t seed = 1;     // for the jitter, and for each rank's start, within a millisecond
};

class JobsOnSharedLinks final : public Observer {
 public:
  explicit JobsOnSharedLinks(const SharedLinks& plan)
      : plan_(plan), random_(base::mix64(plan.seed)), cluster_(cluster_options(plan)) {
    for (std::size_t job = 0; job < plan.jobs.size(); ++job) add_job(job);
    cluster_.network().add_observer(this);
  }

  void run_until(base::Instant limit) {
    while (cluster_.network().step(limit)) {
    }
  }

  // Returns the number of each job's contributions that have passed host 0's link.
  std::uint64_t passed(std::size_t job) const { return passed_[job]; }
  const core::WorkerTeam& worker(std::size_t job, std::size_t rank) const {
    return jobs_[job].workers[rank]->worker();
  }

  void on_send(base::Instant, const Path&, std::span<const std::byte>, std::uint64_t) override {}
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}
  void on_arrival(base::Instant, const Path& path, std::span<const std::byte> bytes) override {
    if (bytes.size() < static_cast<std::size_t>(kPayloadBytes)) return;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      if (path.source == jobs_[job].worker_nodes.front()) ++passed_[job];
    }
  }

 private:
  static constexpr std::uint16_t kSmallSlots = 64;

  static ClusterOptions cluster_options(const SharedLinks& plan) {
    ClusterOptions options;
    options.hosts_per_rack = 0;
    for (const auto& job : plan.jobs) {
      options.hosts_per_rack = std::max(options.hosts_per_rack, job.world);
    }
    options.host_link = {.bits_per_second = plan.path.bits_per_second,
                         .delay = plan.path.round_trip / 2,
                         .queue_bytes_max = 1 << 20};
    options.jitter_max = plan.jitter_max;
    options.seed = plan.seed;
    return options;
  }

  std::uint16_t bulk_slots() const {
    return static_cast<std::uint16_t>(std::clamp(4 * plan_.path.frames(), 448.0, 4e4));
  }

  plan::Plan plan_of(std::size_t job, std::span<const HostIndex> hosts) const {
    plan::Plan plan;
    plan.world = plan_.jobs[job].world;
    plan.elements_max = 352;
    plan.small_slots = kSmallSlots;
    plan.bulk_slots = bulk_slots();
    plan.trees = {cluster_.tree_on(hosts)};
    plan.trees.front().job = static_cast<std::uint16_t>(job);
    plan.trees.front().epoch = 1;
    return plan;
  }

  core::WorkerOptions worker_options(const plan::Plan& plan, std::uint16_t rank) {
    core::WorkerOptions options = plan::worker_options(plan, rank);
    options.seed = random_.next();
    return options;
  }

  // Makes more tensors than a minute needs. Each is sent when the previous one is done.
  std::deque<Call> calls_of(const SharedLinks::JobPlan& plan) {
    Call call;
    call.at = base::Instant{} + plan.start +
              base::microseconds(static_cast<std::int64_t>(random_.below(1'000)));
    call.request = sum_of_zeros({core::WireFormat::bfp32, core::DataType::f32}, plan.elements);
    call.after_previous = true;
    return std::deque<Call>(200, call);
  }

  void add_job(std::size_t job) {
    std::vector<HostIndex> hosts(plan_.jobs[job].world);
    std::iota(hosts.begin(), hosts.end(), HostIndex{0});
    const plan::Plan sums = plan_of(job, hosts);
    jobs_.push_back(cluster_.add_job(sums, hosts, [&](std::uint16_t rank) {
      return WorkerNodeOptions{.worker = worker_options(sums, rank),
                               .calls = calls_of(plan_.jobs[job]),
                               .pauses = {},
                               .ending = {}};
    }));
    passed_.push_back(0);
  }

  SharedLinks plan_;
  base::Prng random_;
  Cluster cluster_;
  std::vector<JobMachines> jobs_;
  std::vector<std::uint64_t> passed_;  // by job
};

}  // namespace infold::sim
