// SPDX-License-Identifier: Apache-2.0
//
// Compares the simulation of SwitchML's rules with counts by hand.
#include "study/reproduce/switchml/slot_rules.h"

#include <gtest/gtest.h>

#include "study/reproduce/packet_bound.h"

namespace infold::reproduce {
namespace {

// 125 bytes take 1 us on a link of 1 Gbit/s. The round trip is 10 us.
SlotRules small() {
  return {.workers = 1,
          .slots = 1,
          .chunks = 100,
          .frame_bytes = 125,
          .bits_per_second = 1'000'000'000};
}

TEST(SlotRules, OneSlotTakesARoundTripForEachChunk) {
  const SlotRulesTime time = run(small());
  EXPECT_NEAR(time.done_s, 100 * 12e-6, 1e-12);
  EXPECT_EQ(time.timeouts, 0U);
}

// Twelve slots fill the round trip: packets leave back to back, and the last one returns.
TEST(SlotRules, ManySlotsFillTheLink) {
  SlotRules rules = small();
  rules.slots = 12;
  rules.workers = 8;
  EXPECT_NEAR(run(rules).done_s, 100 * 1e-6 + 11e-6, 1e-12);
}

TEST(SlotRules, SlotsWithoutChunksDoNothing) {
  SlotRules rules = small();
  rules.slots = 1000;
  EXPECT_NEAR(run(rules).done_s, 100 * 1e-6 + 11e-6, 1e-12);
}

// A chunk and its result are lost with 1 - 0.9^2 = 0.19, each time that the worker sends. That
// makes 0.19 / 0.81 timeouts for each chunk, each of 1 ms after the sending.
TEST(SlotRules, ALostPacketCostsATimeout) {
  SlotRules rules = small();
  rules.chunks = 20'000;
  rules.loss = 0.1;
  const SlotRulesTime time = run(rules);
  const double timeouts = 20'000 * 0.19 / 0.81;
  EXPECT_NEAR(static_cast<double>(time.timeouts), timeouts, 0.05 * timeouts);
  EXPECT_NEAR(time.done_s, 20'000 * 12e-6 + static_cast<double>(time.timeouts) * 1e-3, 1e-9);
}

// Without the switch's copy of the last result, a worker that lost its result would wait for ever.
TEST(SlotRules, AWorkerThatLostAResultGetsItAgain) {
  SlotRules rules = small();
  rules.workers = 8;
  rules.slots = 4;
  rules.chunks = 10'000;
  rules.loss = 0.2;
  EXPECT_GT(run(rules).timeouts, 1'000U);
}

// An event simulation of the same rules by others has inflations of 5.1 to 5.4 for 100 MB in
// packets of 64 elements, with 8 workers at 10 Gbit/s and 128 slots.
TEST(SlotRules, InflateASumAsInAnotherSimulation) {
  SlotRules rules{.slots = 128,
                  .chunks = 25'000'000 / 64,
                  .frame_bytes = switchml_udp_frame(64).bytes,
                  .bits_per_second = 10'000'000'000};
  const double clean_s = run(rules).done_s;
  rules.loss = 0.01;
  EXPECT_NEAR(run(rules).done_s / clean_s, 5.25, 0.05 * 5.25);
}

TEST(SlotRules, OneSeedDecidesTheRun) {
  SlotRules rules = small();
  rules.loss = 0.1;
  const double first = run(rules).done_s;
  EXPECT_EQ(run(rules).done_s, first);
  rules.seed = 2;
  EXPECT_NE(run(rules).done_s, first);
}

}  // namespace
}  // namespace infold::reproduce
