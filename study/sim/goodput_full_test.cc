// SPDX-License-Identifier: Apache-2.0
//
// Measures which share of a link large tensors use, from 100 Mbit/s to 100 Gbit/s and 10 us to 1
// ms.
#include <gtest/gtest.h>

#include "study/sim/behaviour.h"

namespace infold::sim {
namespace {

// A kernel blocks a sender when the sender's own queue is this long.
constexpr std::int64_t kHostQueueBytes = 256 * 1024;

// Sums four buckets in a row. The last two show where the window settles.
double settled_share(LinkPath path, std::uint16_t world, std::int64_t host_queue_bytes) {
  Scenario scenario = tensors_on(path, world, kBucketElements, 4);
  scenario.host_queue_bytes = host_queue_bytes;
  Simulation simulation(scenario);
  simulation.run_network();
  const base::Duration took = finished_at(simulation, 3) - finished_at(simulation, 1);
  return share_of_link(path, 2 * kBucketElements, took);
}

class Goodput : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t>> {};

TEST_P(Goodput, FillsTheLink) {
  const auto [mbps, round_trip_us] = GetParam();
  const LinkPath path = {mbps * 1'000'000, base::microseconds(round_trip_us)};
  const double share = settled_share(path, 4, kHostQueueBytes);
  RecordProperty("share_of_link", std::to_string(share));
  EXPECT_GE(share, 0.95);
}

// The queue that overflows is not the host's own. It holds 1 MiB.
TEST_P(Goodput, FillsTheLinkBlindly) {
  const auto [mbps, round_trip_us] = GetParam();
  const LinkPath path = {mbps * 1'000'000, base::microseconds(round_trip_us)};
  const double share = settled_share(path, 4, 0);
  RecordProperty("share_of_link", std::to_string(share));
  // At 100 Gbit/s and 1 ms, 1 MiB is a twelfth of what fills the path. A window without pacing
  // overruns the queue whenever it opens after a stall.
  EXPECT_GE(share, path.frames() > 5'000 ? 0.45 : 0.95);
}

INSTANTIATE_TEST_SUITE_P(Paths, Goodput,
                         testing::Combine(testing::Values(100, 1'000, 10'000, 100'000),
                                          testing::Values(10, 100, 1'000)),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) + "Mbps" +
                                  std::to_string(std::get<1>(each.param)) + "us";
                         });

TEST(GoodputTrend, IsFlatInTheNumberOfWorkers) {
  const LinkPath path = {10'000'000'000, base::microseconds(100)};
  for (const unsigned world : {2U, 4U, 8U, 16U}) {
    EXPECT_GE(settled_share(path, static_cast<std::uint16_t>(world), kHostQueueBytes), 0.95)
        << world << " workers";
  }
}

// A path between cities. The tensors of the first two seconds open the window. A controller that
// knows the path provides enough slots.
TEST(GoodputTrend, APathOf100MsIsFilled) {
  constexpr int kTensors = 12;
  for (const std::int64_t mbps : {100, 1'000}) {
    const LinkPath path = {mbps * 1'000'000, base::microseconds(100'000)};
    const std::uint64_t elements = kBucketElements * static_cast<std::uint64_t>(mbps) / 1'000;
    Scenario scenario = tensors_on(path, 2, elements, kTensors);
    scenario.host_queue_bytes = kHostQueueBytes;
    Simulation simulation(scenario);
    simulation.run_network();
    const base::Duration took =
        finished_at(simulation, kTensors - 1) - finished_at(simulation, kTensors / 2 - 1);
    const double share = share_of_link(path, kTensors / 2 * elements, took);
    RecordProperty("share_of_link_" + std::to_string(mbps), std::to_string(share));
    EXPECT_GE(share, 0.9) << mbps << " Mbit/s";
  }
}

// Starts cold, like the first call of a program.
TEST(GoodputTrend, OneBucketFillsTheLinkWhereItTakesManyRoundTrips) {
  for (const std::int64_t mbps : {100, 1'000, 10'000, 100'000}) {
    const LinkPath path = {mbps * 1'000'000, base::microseconds(10)};
    Simulation simulation(tensors_on(path, 4, kBucketElements, 1));
    simulation.run_network();
    const base::Duration took = finished_at(simulation, 0) - base::Instant{};
    EXPECT_GE(share_of_link(path, kBucketElements, took), 0.95) << mbps << " Mbit/s";
  }
}

}  // namespace
}  // namespace infold::sim
