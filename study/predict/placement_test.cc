// SPDX-License-Identifier: Apache-2.0
//
// Compares placements with counts by hand, and tests what must hold for any question.
#include "study/predict/placement.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/prng.h"
#include "plan/plan.h"

namespace infold::predict {
namespace {

using testing::ElementsAre;

constexpr double kGigabit = 1e9;
// 25 million f32 in chunks of 352, as link_bytes_test.cc counts them.
constexpr double kPassageBytes = 107'812'526;
// An eighth of the tensor over TCP: 12.5 MB in 8633 segments.
constexpr double kRingMessage = 12'500'000 + 8'633 * 90;

Question eight_workers() {
  Question question;
  question.worker_rates.assign(8, 10 * kGigabit);
  return question;
}

std::map<std::string, Placement> by_name(const Question& question) {
  std::map<std::string, Placement> named;
  for (Placement& placement : predict(question)) named[placement.name] = placement;
  return named;
}

std::vector<std::string> names(const Question& question) {
  std::vector<std::string> names;
  for (const Placement& placement : predict(question)) names.push_back(placement.name);
  return names;
}

TEST(Placement, SwitchCarriesEachPassageOnce) {
  Question question = eight_workers();
  question.switch_in_path = true;
  const Placement placement = by_name(question)["switch"];
  EXPECT_NEAR(placement.busiest_bytes, kPassageBytes, 1);
  EXPECT_NEAR(placement.time_s, kPassageBytes * 8 / 10e9 + 50e-6, 1e-9);
  EXPECT_EQ(placement.hops, 2U);
}

// A fast link waits for the chunks in flight: what-if, which simulates the packets, says 6.4 ms for
// 40 MB through a switch at 100 Gbit/s with 50 us between hosts, where the link needs 3.4 ms.
TEST(Placement, AWindowBindsWhereTripsAreLong) {
  Question question = eight_workers();
  question.worker_rates.assign(8, 100 * kGigabit);
  question.switch_in_path = true;
  question.tensor_bytes = 39'700'000;
  Placement placement = by_name(question)["switch"];
  EXPECT_TRUE(placement.is_window_bound());
  EXPECT_NEAR(placement.links_s, 3.4e-3, 0.05e-3);
  EXPECT_NEAR(placement.time_s, 6.4e-3, 0.2e-3);
  question.framing.mtu = 9000;
  placement = by_name(question)["switch"];
  EXPECT_FALSE(placement.is_window_bound());
  EXPECT_EQ(kWindow, plan::Plan{}.bulk_slots / 4);
}

TEST(Placement, RingSendsSevenEighthsTwice) {
  const Placement placement = by_name(eight_workers())["ring"];
  EXPECT_NEAR(placement.busiest_bytes, 14 * kRingMessage, 1);
  EXPECT_EQ(placement.hops, 14U);
  EXPECT_NEAR(placement.time_s, 14 * kRingMessage * 8 / 10e9 + 14 * 25e-6, 1e-9);
  EXPECT_TRUE(placement.sites.empty());
}

TEST(Placement, HostCarriesEveryPassage) {
  Question question = eight_workers();
  question.hosts = {{"host:10G", 10 * kGigabit}};
  auto placements = by_name(question);
  EXPECT_NEAR(placements["host:10G"].busiest_bytes, 8 * kPassageBytes, 1);
  EXPECT_EQ(placements["host:10G"].busiest_link, "host:10G");
  // The host carries 8 passages and the ring 1.75, so the host is about 4.6 times as slow.
  EXPECT_NEAR(placements["host:10G"].time_s / placements["ring"].time_s, 8 / 1.75, 0.1);
}

// One thread handles 568,000 contributions. Even a port of 100 Gbit/s cannot bring that down to 86
// ms.
TEST(Placement, AFastHostWaitsForItsProcessors) {
  Question question = eight_workers();
  question.hosts = {{"host:100G", 100 * kGigabit}};
  question.processors = measured_processors();
  const Placement one = by_name(question)["host:100G"];
  EXPECT_TRUE(one.is_processor_bound());
  EXPECT_EQ(one.busiest_processor, "host:100G");
  EXPECT_GT(one.time_s, 0.4);
  EXPECT_LT(one.time_s, 0.6);
  question.host_threads = 4;
  const Placement four = by_name(question)["host:100G"];
  EXPECT_NEAR(four.processors_s, one.processors_s / 4, 1e-9);
  question.host_threads = 64;
  const Placement many = by_name(question)["host:100G"];
  EXPECT_FALSE(many.is_processor_bound());
  EXPECT_EQ(many.busiest_processor, "a worker") << "its own packets, which no site takes off it";
  EXPECT_NEAR(many.time_s, kPassageBytes * 8 / 10e9 + 50e-6, 1e-9);
}

double chunks_of(const Question& question) {
  return static_cast<double>(
      passage_of(question.layout, question.tensor_bytes / 4, question.framing).chunks);
}

TEST(Placement, AWorkerThatSumsPaysForBoth) {
  Question question = eight_workers();
  question.worker_rates.assign(8, 100 * kGigabit);
  question.processors = {.rank = {1e-6, 0}, .site = {2e-6, 0}, .own = {4e-6, 0}};
  auto placements = by_name(question);
  // Seven eighths of its chunks go to others and cost 1 us each. The eighth that it sums costs 4 us
  // per chunk for its own contribution, and 2 us for each of the seven others.
  EXPECT_NEAR(placements["workers"].processors_s,
              chunks_of(question) * (7.0 + 4 + 7 * 2) / 8 * 1e-6, 1e-4);
  EXPECT_TRUE(placements["workers"].is_processor_bound());
  EXPECT_EQ(placements["workers"].busiest_processor, "a worker");
  EXPECT_FALSE(placements["ring"].is_processor_bound());
}

TEST(Placement, PartiesOfOneMachineShareItsProcessors) {
  Question question = eight_workers();
  question.worker_rates.assign(8, kUnlimited);
  question.hosts = {{"host:none", kUnlimited}};
  question.switch_in_path = true;
  question.processors = {
      .rank = {3e-6, 0}, .site = {2e-6, 0}, .own = {4e-6, 0}, .ring_byte_s = 1e-9};
  question.shared_processors = 2;
  auto placements = by_name(question);
  const double chunks = chunks_of(question);
  // Each chunk has eight ranks and eight contributions, on two processors.
  for (const char* name : {"switch", "host:none"}) {
    EXPECT_NEAR(placements[name].processors_s, chunks * (8 * 3 + 8 * 2) / 2 * 1e-6, 1e-6) << name;
    EXPECT_TRUE(placements[name].is_processor_bound()) << name;
    EXPECT_EQ(placements[name].busiest_processor, "the machine") << name;
  }
  EXPECT_NEAR(placements["workers"].processors_s, chunks * (7 * 3 + 4 + 7 * 2) / 2 * 1e-6, 1e-6);
  EXPECT_NEAR(placements["ring"].processors_s, 8 * 14 * 12.5e6 / 2 * 1e-9, 1e-6);

  // One thread sums, however many processors there are.
  question.shared_processors = 64;
  placements = by_name(question);
  EXPECT_NEAR(placements["switch"].processors_s, chunks * 8 * 2e-6, 1e-6);
  EXPECT_EQ(placements["switch"].busiest_processor, "switch");
  question.host_threads = 4;
  EXPECT_NEAR(by_name(question)["switch"].processors_s, chunks * 8 * 2 / 4 * 1e-6, 1e-6);
}

// Shares follow the slower of port and processors, so a host that cannot keep up gets less.
TEST(Placement, SharesKnowAHostsProcessors) {
  Question question = eight_workers();
  question.hosts = {{"host:100G", 100 * kGigabit}};
  question.processors = measured_processors();
  const Placement mixed = by_name(question)["host:100G + workers"];
  ASSERT_FALSE(mixed.sites.empty());
  EXPECT_LT(mixed.sites.front().share, 0.5);
  EXPECT_LT(mixed.time_s, by_name(question)["host:100G"].time_s);
}

TEST(Placement, FastHostIsAsGoodAsASwitch) {
  Question question = eight_workers();
  question.switch_in_path = true;
  question.hosts = {{"host:100G", 100 * kGigabit}};
  auto placements = by_name(question);
  EXPECT_DOUBLE_EQ(placements["host:100G"].time_s, placements["switch"].time_s);
  EXPECT_EQ(placements["host:100G"].busiest_link, "a worker's link");
  // The workers cannot improve on this.
  EXPECT_EQ(placements.count("host:100G + workers"), 0U);
}

TEST(Placement, WorkersEqualARingInBytes) {
  const Placement placement = by_name(eight_workers())["workers"];
  EXPECT_NEAR(placement.busiest_bytes, 1.75 * kPassageBytes, 1518 * 8);
  EXPECT_EQ(placement.hops, 2U);
  EXPECT_EQ(placement.sites.size(), 8U);
  for (const SiteShare& site : placement.sites) EXPECT_EQ(site.weight, 1U);
}

// BytePS with n = 8, k = 1: D = 64 + 8 - 2 = 70, the host sums 14/70 and each worker 7/70, and the
// time is 112/70 of a passage.
TEST(Placement, MixedIsBytePS) {
  Question question = eight_workers();
  question.hosts = {{"host:10G", 10 * kGigabit}};
  const Placement placement = by_name(question)["host:10G + workers"];
  EXPECT_NEAR(placement.links_s / (kPassageBytes * 8 / 10e9), 112.0 / 70, 1e-3);
  EXPECT_EQ(placement.sites[0].name, "host:10G");
  EXPECT_EQ(placement.sites[0].weight, 2U);
  EXPECT_EQ(placement.sites[1].name, "worker 0");
  EXPECT_EQ(placement.sites[1].weight, 1U);
  EXPECT_DOUBLE_EQ(placement.sites[0].share, 0.2);
}

TEST(Placement, HostsAreStripedByTheirRates) {
  Question question = eight_workers();
  question.hosts = {
      {"host:10G", 10 * kGigabit}, {"host:25G", 25 * kGigabit}, {"host:10G", 10 * kGigabit}};
  auto placements = by_name(question);
  const Placement placement = placements["host:25G + 2 x host:10G"];
  ASSERT_EQ(placement.sites.size(), 3U);
  EXPECT_EQ(placement.sites[0].weight, 5U);
  EXPECT_EQ(placement.sites[2].weight, 2U);
  EXPECT_NEAR(placement.links_s, 8 * kPassageBytes * 8 / 45e9, 1e-5);
  EXPECT_EQ(placements.count("host:10G"), 1U);
}

TEST(Placement, FastestComesFirst) {
  Question question = eight_workers();
  question.switch_in_path = true;
  question.hosts = {{"host:10G", 10 * kGigabit}};
  EXPECT_THAT(names(question),
              ElementsAre("switch", "host:10G + workers", "ring", "workers", "host:10G"));
}

// One chunk cannot be shared. The worker that sums it receives seven contributions and sends seven
// results.
TEST(Placement, SmallTensorsAreWholeChunks) {
  Question question = eight_workers();
  question.tensor_bytes = 4;
  auto placements = by_name(question);
  EXPECT_NEAR(placements["workers"].busiest_bytes, 7 * 106, 1e-6);
  EXPECT_NEAR(placements["workers"].time_s, 50e-6 + 7 * 106 * 8 / 10e9, 1e-12);
  EXPECT_GT(placements["ring"].time_s, 350e-6);
}

// The ring sends the tensor's type, while the switch sums what it is sent.
TEST(Placement, WireFormatsAreTheSwitchesAlone) {
  Question question = eight_workers();
  question.switch_in_path = true;
  const auto f32 = by_name(question);
  question.layout.format = core::WireFormat::bfp8;
  const auto small = by_name(question);
  EXPECT_NEAR(f32.at("switch").links_s / small.at("switch").links_s, 4, 0.1);
  EXPECT_EQ(f32.at("ring").time_s, small.at("ring").time_s);
}

TEST(Placement, AJobHasAtMost64Sites) {
  Question question = eight_workers();
  question.worker_rates.assign(100, 10 * kGigabit);
  question.hosts.assign(3, {"host:100G", 100 * kGigabit});
  auto placements = by_name(question);
  EXPECT_EQ(placements["workers"].sites.size(), 64U);
  EXPECT_EQ(placements["3 x host:100G + workers"].sites.size(), 64U);
}

TEST(PlacementProperty, HelpIsNeverMuchSlower) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    base::Prng prng(seed);
    Question question;
    question.worker_rates.assign(2 + prng.below(30), 10 * kGigabit);
    question.switch_in_path = true;
    for (std::uint64_t i = 1 + prng.below(4); i > 0; --i) {
      const auto rate = 1 + static_cast<double>(prng.below(100));
      question.hosts.push_back({"host:" + std::to_string(rate), rate * kGigabit});
    }
    const auto placements = predict(question);
    double one = 1e9;
    double all = 1e9;
    double mixed = 1e9;
    for (const Placement& placement : placements) {
      EXPECT_GE(placement.time_s, placements.front().time_s);
      double shares = 0;
      for (const SiteShare& site : placement.sites) shares += site.share;
      EXPECT_NEAR(shares, placement.kind == PlacementKind::ring ? 0 : 1, 1e-9) << "seed " << seed;
      if (placement.kind == PlacementKind::mixed) mixed = placement.time_s;
      if (placement.kind != PlacementKind::hosts) continue;
      (placement.sites.size() == 1 ? one : all) =
          std::min(placement.sites.size() == 1 ? one : all, placement.time_s);
    }
    // Weights are whole numbers, so a site that adds almost nothing may cost a little.
    if (all < 1e9) {
      EXPECT_LE(all, one * 1.02) << "seed " << seed;
    }
    if (mixed < 1e9) {
      EXPECT_LE(mixed, std::min(all, one) * 1.02) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace infold::predict
