// SPDX-License-Identifier: Apache-2.0
//
// Tests the decisions of `infold plan --verify` without a lab: what it measures and where, and what
// it refuses.

#include "cli/plan/plan_measure.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/plan/plan_table.h"

namespace infold::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

predict::Question question(std::size_t workers, double rate) {
  predict::Question question;
  question.worker_rates.assign(workers, rate);
  question.framing.frame_bytes = kShapedFrameBytes;
  question.tensor_bytes = 4'000'000;
  return question;
}

LabMachine machine() { return {2, 8'000'000'000, true, false}; }

const FormatNames kNames = {"f32", "bfp32"};

std::string refusal(const predict::Question& question, const LabMachine& machine,
                    const FormatNames& names = kNames) {
  const auto refused = refuse_to_measure(question, names, predict::predict(question), machine);
  return refused ? (refused->bad_usage ? "usage: " : "") + refused->text : "";
}

TEST(PlanMeasure, TakesWhatThisMachineCanShape) {
  predict::Question fits = question(8, 100e6);
  fits.hosts = {{"host:1G", 1e9}};
  EXPECT_EQ(refusal(fits, machine()), "");
}

TEST(PlanMeasure, RefusesRatesThatTheProcessorWouldLimitAndAdvises) {
  EXPECT_EQ(refusal(question(8, 10e9), machine()),
            "a machine shapes links of up to 1 Gbit/s, not of 10 Gbit/s; with rates and size "
            "divided by 100 it takes as long, except for round trips: --link 100M --bytes 40KB");
  predict::Question fast_host = question(4, 100e6);
  fast_host.hosts = {{"host:10G", 10e9}};
  EXPECT_THAT(refusal(fast_host, machine()),
              HasSubstr("host:10G is faster; with rates and size divided by 10 it takes as "
                        "long, except for round trips: --link 10M --place host:1G --bytes 400KB"));
  EXPECT_THAT(
      refusal(question(8, 500e6), machine()),
      HasSubstr("8 links of 500 Mbit/s carry more than the 1 Gbit/s that 2 cores can move"));
  LabMachine large = machine();
  large.cores = 16;
  EXPECT_EQ(refusal(question(8, 500e6), large), "");
}

TEST(PlanMeasure, TakesLinksWithoutALimit) {
  predict::Question unshaped = question(4, predict::kUnlimited);
  unshaped.hosts = {{"host:none", predict::kUnlimited}};
  EXPECT_EQ(refusal(unshaped, machine()), "");
  const measure::LabLinks links = lab_links(unshaped);
  EXPECT_EQ(links.rate, "none");
  EXPECT_THAT(links.rates_at, ElementsAre(Pair(4, "none")));

  predict::Question fast = question(4, 10e9);
  fast.hosts = {{"host:none", predict::kUnlimited}};
  EXPECT_THAT(refusal(fast, machine()), HasSubstr("--link 100M --place host:none --bytes 40KB"));
}

TEST(PlanMeasure, RefusesQuestionsThatNoLabCanAnswer) {
  LabMachine other = machine();
  other.is_root = false;
  EXPECT_THAT(refusal(question(4, 100e6), other), HasSubstr("needs root"));
  other = machine();
  other.memory_bytes = 47'000'000;
  EXPECT_THAT(refusal(question(4, 100e6), other), HasSubstr("take 48 MB, and 47 MB"));
  EXPECT_THAT(refusal(question(65, 1e6), machine()), HasSubstr("65 workers and hosts are more"));
  predict::Question slow = question(4, 1e6);
  slow.tensor_bytes = 8'000'000;
  EXPECT_THAT(refusal(slow, machine()), HasSubstr("where at most 60 s are measured"));

  predict::Question framed = question(4, 100e6);
  framed.framing.frame_bytes = 38;
  EXPECT_THAT(refusal(framed, machine()), HasSubstr("usage: its links add 14 bytes"));
  framed = question(4, 100e6);
  framed.framing.mtu = 9001;
  EXPECT_THAT(refusal(framed, machine()), HasSubstr("usage: its links have an MTU"));
  EXPECT_THAT(refusal(question(4, 100e6), machine(), {"f16", "bfp16"}),
              HasSubstr("usage: infold bench allreduce sums f32, f64 and i32, not f16"));
}

TEST(PlanMeasure, GivesEachHostItsRate) {
  predict::Question mixed = question(3, 100e6);
  mixed.hosts = {{"host:1G", 1e9}, {"host:250M", 250e6}};
  const measure::LabLinks links = lab_links(mixed);
  EXPECT_EQ(links.hosts, 5U);
  EXPECT_EQ(links.rate, "100mbit");
  EXPECT_THAT(links.rates_at, ElementsAre(Pair(3, "1000mbit"), Pair(4, "250mbit")));
}

TEST(PlanMeasure, PutsSumsWhereThePlacementHasThem) {
  predict::Question asked = question(4, 100e6);
  asked.hosts = {{"host:100M", 100e6}, {"host:50M", 50e6}, {"host:100M", 100e6}};
  asked.switch_in_path = true;
  std::size_t seen = 0;
  for (const predict::Placement& each : predict::predict(asked)) {
    const PlacementPlan plan = plan_measurement(asked, kNames, each, machine());
    ++seen;
    if (each.name == "ring") {
      EXPECT_THAT(plan.not_measured, HasSubstr("Gloo"));
    } else if (each.name == "switch") {
      EXPECT_TRUE(plan.places->on_switch);
      EXPECT_THAT(plan.places->hosts, IsEmpty());
    } else if (each.name == "workers") {
      EXPECT_TRUE(plan.places->on_workers);
      EXPECT_FALSE(plan.places->on_switch);
    } else if (each.name == "host:50M") {
      EXPECT_THAT(plan.places->hosts, ElementsAre(5));
    } else if (each.name == "host:100M") {
      EXPECT_THAT(plan.places->hosts, ElementsAre(4));
    } else {
      EXPECT_THAT(plan.not_measured, HasSubstr("its hosts have different weights")) << each.name;
    }
  }
  EXPECT_EQ(seen, 7U);
}

TEST(PlanMeasure, StripesOverEqualHostsAndHelpsThemByWeight) {
  predict::Question asked = question(4, 100e6);
  asked.hosts = {{"host:100M", 100e6}, {"host:100M", 100e6}};
  for (const predict::Placement& each : predict::predict(asked)) {
    const PlacementPlan plan = plan_measurement(asked, kNames, each, machine());
    if (each.name == "2 x host:100M") {
      EXPECT_THAT(plan.places->hosts, ElementsAre(4, 5));
    }
    if (each.kind != predict::PlacementKind::mixed) continue;
    ASSERT_TRUE(plan.places.has_value());
    EXPECT_EQ(plan.places->switch_weight, each.sites.front().weight);
    EXPECT_EQ(plan.places->worker_weight, each.sites.back().weight);
    EXPECT_TRUE(plan.places->on_workers);
  }
}

TEST(PlanMeasure, ARingIsMeasuredIfGlooIsInstalled) {
  const predict::Question asked = question(4, 100e6);
  LabMachine with = machine();
  with.has_gloo = true;
  for (const predict::Placement& each : predict::predict(asked)) {
    if (each.kind != predict::PlacementKind::ring) continue;
    EXPECT_TRUE(plan_measurement(asked, kNames, each, with).is_ring);
    EXPECT_EQ(plan_measurement(asked, {"i32", "i32"}, each, with).not_measured,
              "Gloo's program sums f32 only");
  }
}

TEST(PlanMeasure, ShortSumsAreMeasuredMoreOften) {
  EXPECT_EQ(measured_iterations(1e-6), 200U);
  EXPECT_EQ(measured_iterations(0.1), 30U);
  EXPECT_EQ(measured_iterations(50), 3U);
}

predict::Placement placement(const char* name, predict::PlacementKind kind, double time_s) {
  predict::Placement placement;
  placement.name = name;
  placement.kind = kind;
  placement.time_s = time_s;
  return placement;
}

TEST(PlanMeasure, SaysWhetherThePredictionHeld) {
  const std::vector<predict::Placement> placements = {
      placement("switch", predict::PlacementKind::switch_in_path, 0.1),
      placement("workers", predict::PlacementKind::workers, 0.2),
      placement("host:1G", predict::PlacementKind::hosts, 0.3),
      placement("ring", predict::PlacementKind::ring, 0.4)};
  std::vector<PlacementMeasured> measured(4);
  measured[0].seconds = 0.11;
  measured[1].seconds = 0.3;
  measured[2].error = "rank 1 ended with status 1";
  measured[3].not_measured = "needs Gloo";
  EXPECT_THAT(measured_advice(placements, measured),
              ElementsAre("Measured: switch is fastest, as predicted; times are 1.10 to 1.50 of "
                          "the predictions.",
                          "Measuring host:1G failed: rank 1 ended with status 1",
                          "ring is predicted only: needs Gloo."));
  measured[0].seconds.reset();
  EXPECT_EQ(measured_advice(placements, measured)[0],
            "Measured: workers takes 1.50 times as long as predicted.");
  measured[0].seconds = 0.35;
  measured[0].busy = 0.97;
  const std::vector<std::string> other = measured_advice(placements, measured);
  EXPECT_THAT(other[0], HasSubstr("workers is fastest, where switch was predicted"));
  EXPECT_THAT(other[1], HasSubstr("The processors were busy to 97 %"));
}

}  // namespace
}  // namespace infold::cli
