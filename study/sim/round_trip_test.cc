// SPDX-License-Identifier: Apache-2.0
//
// Counts the round trips that the protocol needs. Links here have an unlimited rate and a fixed
// delay, so virtual time counts round trips exactly.
#include <gtest/gtest.h>

#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

namespace infold::sim {
namespace {

using core::WireFormat;

constexpr base::Duration kOneWay = base::microseconds(10);
constexpr base::Duration kRoundTrip = kOneWay * 2;
constexpr std::uint64_t kChunk = 352;

Scenario on_ideal_links(std::uint16_t world, std::uint32_t depth, CallPlan call) {
  Scenario scenario;
  scenario.name = "round trips";
  scenario.plan.world = world;
  scenario.plan.trees = {plan::even_tree(world, depth, 4)};
  scenario.link = {.bits_per_second = 0, .delay = kOneWay, .queue_bytes_max = 0};
  scenario.plan.small_slots = 64;
  scenario.calls = {call};
  return scenario;
}

std::int64_t round_trips(const Scenario& scenario) {
  const Outcome outcome = run(scenario);
  EXPECT_TRUE(outcome.passed()) << outcome.wrong.front();
  EXPECT_EQ(outcome.finished_at.ns % kRoundTrip.ns, 0) << "no timer may take part";
  return outcome.finished_at.ns / kRoundTrip.ns;
}

constexpr WireFormat kBlockFormats[] = {WireFormat::bfp8, WireFormat::bfp16, WireFormat::bfp32};

TEST(RoundTrips, OneForATensorThatFitsAWindow) {
  for (const std::uint64_t elements : {std::uint64_t{1}, kChunk, 32 * kChunk}) {
    EXPECT_EQ(round_trips(on_ideal_links(8, 1, sum_of_integers(elements))), 1);
    for (const WireFormat format : kBlockFormats) {
      EXPECT_EQ(round_trips(on_ideal_links(8, 1, sum_of_floats(format, elements))), 1);
    }
  }
}

TEST(RoundTrips, OneForABarrierAndABroadcast) {
  CallPlan barrier;
  barrier.collective = core::Collective::barrier;
  EXPECT_EQ(round_trips(on_ideal_links(8, 1, barrier)), 1);
  CallPlan broadcast = sum_of_integers(1'000);
  broadcast.collective = core::Collective::broadcast;
  broadcast.root = 3;
  EXPECT_EQ(round_trips(on_ideal_links(8, 1, broadcast)), 1);
}

TEST(RoundTrips, OneMoreForEachLevelOfATree) {
  for (const std::uint32_t depth : {1U, 2U, 3U}) {
    const CallPlan call = sum_of_floats(WireFormat::bfp32, 4 * kChunk);
    EXPECT_EQ(round_trips(on_ideal_links(16, depth, call)), depth);
  }
}

TEST(RoundTrips, TwoWhereExponentsAreTooFarApart) {
  for (const WireFormat format : kBlockFormats) {
    CallPlan call = sum_of_floats(format, 4 * kChunk);
    call.values.kind = oracle::ValueKind::apart;
    EXPECT_EQ(round_trips(on_ideal_links(8, 1, call)), 2);
  }
}

TEST(RoundTrips, TwoWhereExponentsAreAgreedFirst) {
  EXPECT_EQ(round_trips(on_ideal_links(8, 1, sum_with_agreed_exponents(4 * kChunk))), 2);
}

TEST(RoundTrips, TwoWhereDigitsFollowRanges) {
  EXPECT_EQ(round_trips(on_ideal_links(8, 1, sum_by_digits(kChunk))), 2);
}

// Eight ranks leave 28 bits for a digit. 10 digits and the counts fill a packet for 32 floats.
TEST(RoundTrips, OneWhereAllDigitsFitAPacket) {
  EXPECT_EQ(round_trips(on_ideal_links(8, 1, sum_by_digits(32))), 1);
  EXPECT_EQ(round_trips(on_ideal_links(8, 1, sum_by_digits(33))), 2);
}

// The first chunks of data are sent beside the second window of codes.
TEST(RoundTrips, OneMoreWhereCodesFillSeveralWindows) {
  constexpr std::uint64_t kChunks = 40 * 16;  // chunks of data, for 40 chunks of codes
  const auto data = round_trips(on_ideal_links(4, 1, sum_of_integers(kChunks * kChunk)));
  const CallPlan call = sum_with_agreed_exponents(kChunks * kChunk);
  EXPECT_EQ(round_trips(on_ideal_links(4, 1, call)), data + 1);
}

// If codes and data are both large, data fills the last window of codes.
TEST(RoundTrips, NoWindowIsHalfEmptyBetweenCodesAndData) {
  constexpr std::uint64_t kWindow = 32, kCodes = 65, kData = 16 * kCodes;
  const CallPlan call = sum_with_agreed_exponents(kData * kChunk);
  EXPECT_EQ(round_trips(on_ideal_links(4, 1, call)), (kCodes + kData + kWindow - 1) / kWindow);
}

TEST(RoundTrips, ManyTensorsShareOne) {
  Scenario scenario = on_ideal_links(8, 1, sum_of_integers(64));
  for (std::uint64_t i = 0; i < 20; ++i) {
    scenario.calls.push_back(sum_of_floats(WireFormat::bfp16, 40, i));
  }
  EXPECT_EQ(round_trips(scenario), 1);
}

}  // namespace
}  // namespace infold::sim
