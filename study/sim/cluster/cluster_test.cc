// SPDX-License-Identifier: Apache-2.0
//
// Tests where jobs sum, which links they use, and what they get of a link that they share.
#include "study/sim/cluster/cluster.h"

#include <gtest/gtest.h>

#include "study/sim/nodes/zeros.h"

namespace infold::sim {
namespace {

constexpr std::int64_t kRate = 10'000'000'000;
constexpr std::uint32_t kPacketElements = 352;
constexpr std::uint64_t kElements = 1'000 * kPacketElements;
// A frame has a header, 352 elements, and what a link adds.
constexpr std::int64_t kFrameBytes = 32 + 4 * kPacketElements + kFrameOverheadBytes;
constexpr std::int64_t kFramePs = kFrameBytes * 8 * 1'000'000'000'000 / kRate;
constexpr std::int64_t kTensorPs = kFramePs * 1'000;

ClusterOptions three_racks_of_two() {
  ClusterOptions options;
  options.racks = 3;
  options.hosts_per_rack = 2;
  options.host_link = options.rack_link = {
      .bits_per_second = kRate, .delay = base::microseconds(5), .queue_bytes_max = 1 << 20};
  return options;
}

class Sums {
 public:
  explicit Sums(const ClusterOptions& options) : cluster(options) {}

  // Adds a job that makes one sum of kElements.
  JobMachines add(const std::vector<HostIndex>& hosts, base::Duration start = {}) {
    return add(hosts, {cluster.tree_on(hosts)}, start);
  }
  JobMachines add(const std::vector<HostIndex>& hosts, const std::vector<plan::Tree>& trees,
                  base::Duration start = {}) {
    plan::Plan plan{.world = static_cast<std::uint16_t>(hosts.size())};
    plan.elements_max = kPacketElements;
    plan.trees = trees;
    for (plan::Tree& tree : plan.trees) {
      tree.job = jobs_;
      tree.epoch = 1;
    }
    ++jobs_;
    return cluster.add_job(plan, hosts, [&](std::uint16_t rank) {
      WorkerNodeOptions options;
      options.worker = plan::worker_options(plan, rank);
      Call call;
      call.at = base::Instant{} + start;
      call.request = sum_of_zeros({core::WireFormat::i32, core::DataType::i32}, kElements);
      options.calls = {call};
      return options;
    });
  }

  void run() {
    while (cluster.network().step(base::Instant{} + base::seconds(1))) {
    }
  }

  Cluster cluster;

 private:
  std::uint16_t jobs_ = 0;
};

base::Instant end_of(const JobMachines& job) {
  base::Instant last;
  for (const WorkerNode* worker : job.workers) {
    EXPECT_TRUE(worker->finished());
    for (const CallRecord& record : worker->records()) {
      EXPECT_TRUE(record.event && !record.event->failure);
      last = std::max(last, record.finished_at);
    }
  }
  return last;
}

// A worker may send a few small packets besides the tensor: queries about a late answer.
void expect_one_tensor(const Link* link) {
  EXPECT_GE(link->busy_ps(), kTensorPs);
  EXPECT_LE(link->busy_ps(), kTensorPs + kTensorPs / 1'000);
}

TEST(Cluster, AJobInOneRackSumsAtItsSwitch) {
  Sums sums(three_racks_of_two());
  const JobMachines job = sums.add({2, 3});
  sums.run();
  ASSERT_EQ(job.aggregators.size(), 1U);
  EXPECT_NEAR(static_cast<double>(end_of(job).ns) * 1e3, static_cast<double>(kTensorPs),
              0.03 * static_cast<double>(kTensorPs));
  expect_one_tensor(sums.cluster.host_links(2).up);
  expect_one_tensor(sums.cluster.host_links(3).down);
  for (RackIndex rack = 0; rack < 3; ++rack) {
    EXPECT_EQ(sums.cluster.rack_links(rack).up->busy_ps(), 0);
    EXPECT_EQ(sums.cluster.rack_links(rack).down->busy_ps(), 0);
  }
}

// Hosts 0 and 1 form a rack, host 2 is alone in the next one, and hosts 4 and 5 form a rack.
TEST(Cluster, AJobOverRacksSendsOneSumForEachRack) {
  Sums sums(three_racks_of_two());
  const JobMachines job = sums.add({0, 1, 2, 4, 5});
  sums.run();
  ASSERT_EQ(job.aggregators.size(), 3U) << "the spine and two racks";
  EXPECT_NEAR(static_cast<double>(end_of(job).ns) * 1e3, static_cast<double>(kTensorPs),
              0.05 * static_cast<double>(kTensorPs));
  for (RackIndex rack = 0; rack < 3; ++rack) {
    expect_one_tensor(sums.cluster.rack_links(rack).up);
    expect_one_tensor(sums.cluster.rack_links(rack).down);
  }
  EXPECT_EQ(sums.cluster.host_links(3).up->busy_ps(), 0);
}

TEST(Cluster, LoneRanksMeetAtTheSpine) {
  Sums sums(three_racks_of_two());
  const JobMachines job = sums.add({1, 5});
  sums.run();
  ASSERT_EQ(job.aggregators.size(), 1U);
  EXPECT_GT(end_of(job).ns * 1'000, kTensorPs);
  expect_one_tensor(sums.cluster.rack_links(0).up);
  EXPECT_EQ(sums.cluster.rack_links(1).up->busy_ps(), 0);
  expect_one_tensor(sums.cluster.rack_links(2).down);
}

// The jobs use different hosts and share only the racks' links.
TEST(Cluster, JobsShareARacksLink) {
  Sums sums(three_racks_of_two());
  const JobMachines first = sums.add({0, 2});
  const JobMachines second = sums.add({1, 3});
  const JobMachines alone = sums.add({4, 5});
  sums.run();
  const auto both_ps = static_cast<double>(2 * kTensorPs);
  EXPECT_GT(static_cast<double>(end_of(first).ns) * 1e3, 0.8 * both_ps);
  EXPECT_NEAR(static_cast<double>(std::max(end_of(first), end_of(second)).ns) * 1e3, both_ps,
              0.05 * both_ps);
  EXPECT_LT(static_cast<double>(end_of(alone).ns) * 1e3, 0.55 * both_ps);
}

TEST(Cluster, AJobMayComeWhileOthersRun) {
  Sums sums(three_racks_of_two());
  const JobMachines first = sums.add({0, 1});
  while (sums.cluster.network().step(base::Instant{} + base::microseconds(300))) {
  }
  EXPECT_FALSE(first.workers.front()->finished());
  const JobMachines second = sums.add({0, 1}, base::microseconds(300));
  sums.run();
  EXPECT_GE(end_of(second).ns, end_of(first).ns);
}

// The second job's packets are still under way when its machines are removed.
TEST(Cluster, AJobThatIsGoneLeavesItsPacketsUnread) {
  Sums sums(three_racks_of_two());
  const JobMachines first = sums.add({0, 1});
  const JobMachines second = sums.add({0, 1});
  while (sums.cluster.network().step(base::Instant{} + base::microseconds(300))) {
  }
  sums.cluster.remove_job(second);
  sums.run();
  end_of(first);
  EXPECT_EQ(sums.cluster.network().packets().in_use(), 0U);
  EXPECT_LT(sums.cluster.host_links(0).up->busy_ps(), 2 * kTensorPs);
}

plan::Tree tree_at(plan::Place place, std::optional<std::uint16_t> rank = {}) {
  plan::Tree tree = plan::flat_tree(2);
  tree.aggregators.front().place = place;
  tree.aggregators.front().rank = rank;
  return tree;
}

ClusterOptions two_hosts() {
  ClusterOptions options = three_racks_of_two();
  options.racks = 1;
  return options;
}

// Each of two ranks sums a half. It sends the other half, and the sum of its own half.
TEST(Cluster, RanksSumAtTheirOwnHosts) {
  Sums sums(two_hosts());
  const JobMachines job =
      sums.add({0, 1}, {tree_at(plan::Place::rank, 0), tree_at(plan::Place::rank, 1)});
  sums.run();
  ASSERT_EQ(job.aggregators.size(), 2U);
  end_of(job);
  for (HostIndex host = 0; host < 2; ++host) {
    expect_one_tensor(sums.cluster.host_links(host).up);
    expect_one_tensor(sums.cluster.host_links(host).down);
  }
}

// The single link of the server carries the tensors of both ranks.
TEST(Cluster, RanksSumAtAServer) {
  ClusterOptions options = two_hosts();
  options.servers = 1;
  options.server_link = options.host_link;
  Sums sums(options);
  const JobMachines job = sums.add({0, 1}, std::vector{tree_at(plan::Place::server)});
  sums.run();
  const auto both_ps = static_cast<double>(2 * kTensorPs);
  EXPECT_NEAR(static_cast<double>(end_of(job).ns) * 1e3, both_ps, 0.05 * both_ps);
}

TEST(Cluster, LinksLosePackets) {
  ClusterOptions options = two_hosts();
  options.loss = 0.02;
  Sums sums(options);
  const JobMachines job = sums.add({0, 1});
  sums.run();
  end_of(job);
  const std::uint64_t lost = sums.cluster.network().counters().dropped[0];
  EXPECT_NEAR(static_cast<double>(lost), 0.02 * 4'000, 40);  // packets on four links
}

TEST(Cluster, CountsTheNodesOfManyHosts) {
  ClusterOptions options = three_racks_of_two();
  EXPECT_EQ(node_count(options), 4U * (6 + 3) + 256);
  options.racks = 64;
  options.hosts_per_rack = 64;
  options.endpoint_count_max = 10'000;
  EXPECT_LE(node_count(options), kNodesMax);
  options.endpoint_count_max = 100'000;
  EXPECT_GT(node_count(options), kNodesMax);
}

}  // namespace
}  // namespace infold::sim
