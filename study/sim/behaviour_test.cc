// SPDX-License-Identifier: Apache-2.0
//
// Tests how jobs behave apart from correctness: queues, small tensors among large ones, loss,
// stragglers, absent ranks. Bounds are about 1.5 times the measured values, because virtual time
// never varies.
#include "study/sim/behaviour.h"

#include <gtest/gtest.h>

namespace infold::sim {
namespace {

constexpr LinkPath kPath = {10'000'000'000, base::microseconds(100)};
constexpr std::uint64_t kElements = 600'000;

// Records the longest queue of any link after `from`.
class QueueWatch final : public Observer {
 public:
  QueueWatch(const Wiring& wiring, base::Instant from) : wiring_(wiring), from_(from) {}

  void on_send(base::Instant, const Path&, std::span<const std::byte>, std::uint64_t) override {}
  void on_drop(base::Instant, const Path&, std::span<const std::byte>, DropCause) override {}
  void on_arrival(base::Instant now, const Path&, std::span<const std::byte>) override {
    if (now < from_) return;
    for (const Link* link : wiring_.links) longest = std::max(longest, link->queued_bytes(now));
  }

  std::int64_t longest = 0;

 private:
  const Wiring& wiring_;
  base::Instant from_;
};

TEST(Behaviour, AFewTensorsFillTheLink) {
  Simulation simulation(tensors_on(kPath, 4, kElements, 4));
  simulation.run_network();
  const base::Duration took = finished_at(simulation, 3) - finished_at(simulation, 1);
  EXPECT_GE(share_of_link(kPath, 2 * kElements, took), 0.95);
}

// The first burst overshoots. After that, the queue is shorter than what fills the path twice.
TEST(Behaviour, TheStandingQueueIsShort) {
  Simulation simulation(tensors_on(kPath, 4, kElements, 6));
  QueueWatch watch(simulation.wiring(), base::Instant{} + base::milliseconds(5));
  simulation.observe(&watch);
  simulation.run_network();
  EXPECT_LE(watch.longest, static_cast<std::int64_t>(2 * kPath.frames()) * kFrameBytes);
}

TEST(Behaviour, SmallTensorsDoNotWaitBehindLargeOnes) {
  Scenario scenario = tensors_on(kPath, 4, 2'000'000, 1);
  for (int i = 0; i < 6; ++i) {
    scenario.calls.push_back(sum_of_integers(64, static_cast<std::uint64_t>(i)));
    scenario.calls.back().gap = base::milliseconds(1);
  }
  Simulation simulation(scenario);
  simulation.run_network();
  const base::Instant large_done = finished_at(simulation, 0);
  for (std::size_t call = 1; call < scenario.calls.size(); ++call) {
    const base::Instant submitted = simulation.wiring().workers[0]->records()[call].submitted_at;
    ASSERT_LT(finished_at(simulation, call), large_done) << "no other packet was ahead";
    // Only the packets in the links' queues are ahead of the small tensor. The other 7 MB of the
    // large tensor are not.
    EXPECT_LE((finished_at(simulation, call) - submitted).ns, kPath.round_trip.ns * 8) << call;
  }
}

TEST(Behaviour, APriorityOverrulesTheSize) {
  Scenario scenario = tensors_on(kPath, 4, 2'000'000, 1);
  CallPlan urgent = scenario.calls[0];
  urgent.elements = 100'000;
  urgent.priority = core::Priority::urgent;
  urgent.gap = base::milliseconds(1);
  CallPlan background = sum_of_integers(64, 1);
  background.priority = core::Priority::background;
  scenario.calls.push_back(background);
  scenario.calls.push_back(urgent);
  Simulation simulation(scenario);
  simulation.run_network();
  const base::Instant large_done = finished_at(simulation, 0);
  EXPECT_LT(finished_at(simulation, 2), large_done);
  EXPECT_GE(finished_at(simulation, 1), large_done);
}

double slowdown_at(double loss) {
  const auto time_of = [](double each_way) {
    Scenario scenario = tensors_on({10'000'000'000, base::microseconds(10)}, 4, kElements, 1);
    scenario.up.loss = scenario.down.loss = each_way;
    Simulation simulation(scenario);
    simulation.run_network();
    return static_cast<double>(finished_at(simulation, 0).ns);
  };
  return time_of(loss) / time_of(0);
}

TEST(Behaviour, LossCostsTimeInProportion) {
  EXPECT_LE(slowdown_at(0.0001), 1.02);
  EXPECT_LE(slowdown_at(0.001), 1.10);
  EXPECT_LE(slowdown_at(0.01), 2.0);
}

// A rank pauses for 20 ms, which is a thousand round trips. Timers must not retransmit in each of
// them.
TEST(Behaviour, AStragglerCausesFewResends) {
  const Scenario scenario = *named_scenario("pause", 1);
  const Outcome outcome = run(scenario);
  ASSERT_TRUE(outcome.passed()) << outcome.wrong.front();
  const std::uint64_t resent = outcome.network.sent - outcome.useful_packets;
  EXPECT_LE(resent, 110U * scenario.plan.world);  // queries and their answers
}

// Half a second is 25,000 round trips. Timers that double make it about ten queries per stream.
TEST(Behaviour, QuestionsAboutAnAbsentRankBackOff) {
  const Scenario scenario = *named_scenario("absent", 1);
  const Outcome outcome = run(scenario);
  ASSERT_TRUE(outcome.passed()) << outcome.wrong.front();
  EXPECT_LE(outcome.workers.sent_query + outcome.workers.resent_timeout, 30U * scenario.plan.world);
  EXPECT_GE(outcome.workers.sent_query + outcome.workers.resent_timeout, 2U);
}

TEST(Behaviour, MemoryAndPacketsUnderWayDoNotGrowWithTime) {
  const auto high_water = [](std::uint64_t elements) {
    Simulation simulation(tensors_on(kPath, 2, elements, 1));
    simulation.run_network();
    return simulation.wiring().network->packets().high_water();
  };
  EXPECT_EQ(high_water(8 * kElements), high_water(kElements));
}

}  // namespace
}  // namespace infold::sim
