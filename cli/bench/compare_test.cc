// SPDX-License-Identifier: Apache-2.0
//
// Tests the arithmetic and the reports of a comparison, with hand-made samples.

#include "study/measure/compare/compare.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/bench/compare_report.h"

namespace infold::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

measure::Implementation named(const char* name) { return measure::implementation_of(name).value(); }

measure::Conditions conditions() {
  measure::Conditions conditions;
  conditions.worlds = {2, 8};
  conditions.bytes = {4096, 26214400};
  conditions.implementations = {named("infold-bfp32"), named("gloo-ring")};
  conditions.bits_per_second = 1e8;
  conditions.rounds = 3;
  return conditions;
}

measure::Sample sample(const std::string& impl, std::uint64_t world, std::uint64_t bytes,
                       unsigned round, double median_ms) {
  return {impl,
          world,
          bytes,
          round,
          "",
          {{"median_ms", median_ms},
           {"p99_ms", 2 * median_ms},
           {"cpu_s_per_gb", 0.5},
           {"retransmits", 1},
           {"check", "ok"}}};
}

Comparison comparison() {
  Comparison comparison;
  comparison.conditions = conditions();
  comparison.command = "infold bench compare";
  comparison.machine = "a <machine>";
  for (const std::uint64_t world : {2, 8}) {
    for (const std::uint64_t bytes : {4096, 26214400}) {
      const double ms = static_cast<double>(bytes) / 1e4;
      for (unsigned round = 1; round <= 3; ++round) {
        comparison.samples.push_back(sample("infold-bfp32", world, bytes, round, ms + round));
        comparison.samples.push_back(sample("gloo-ring", world, bytes, round, 2 * (ms + round)));
      }
    }
  }
  return comparison;
}

TEST(Compare, KnowsItsImplementations) {
  for (const std::string& name : measure::implementation_names()) {
    EXPECT_EQ(measure::implementation_of(name)->name, name);
    EXPECT_EQ(measure::implementation_of(name)->is_ours(), name.starts_with("infold-"));
  }
  EXPECT_FALSE(measure::implementation_of("gloo").has_value());
  EXPECT_EQ(named("infold-workers-bfp8").way, measure::Way::infold_workers);
}

TEST(Compare, BoundsAreTheBytesOfTheBusiestLink) {
  const measure::Conditions with = conditions();
  // 352 elements are 1408 bytes of tensor in a frame of 1494 bytes, so the tensor needs 18618.2
  // frames.
  EXPECT_NEAR(measure::bound_s(with, named("infold-bfp32"), 8, 26214400), 2.225, 0.002);
  EXPECT_NEAR(measure::bound_s(with, named("infold-workers-bfp32"), 8, 26214400), 2.225 * 14 / 8,
              0.004);
  // A frame of 1514 bytes carries 1448, and seven eighths of the tensor cross each link twice.
  EXPECT_NEAR(measure::bound_s(with, named("gloo-ring"), 8, 26214400), 3.837, 0.01);
  EXPECT_NEAR(measure::bound_s(with, named("gloo-oneshot"), 8, 26214400), 2.1927 * 7, 0.05);
  // bfp16 sends half as many bytes per element, and bfp8 a quarter.
  EXPECT_NEAR(measure::bound_s(with, named("infold-bfp16"), 8, 26214400), 1.127, 0.01);
  EXPECT_NEAR(measure::bound_s(with, named("infold-bfp8"), 8, 26214400), 0.577, 0.01);
  measure::Conditions unshaped = with;
  unshaped.bits_per_second = 0;
  EXPECT_EQ(measure::bound_s(unshaped, named("gloo-ring"), 8, 26214400), 0);
}

TEST(Compare, BoundsOfSumsWithoutZerosAreThoseOfTheUnion) {
  measure::Conditions with = conditions();
  with.zeros.share = 0.9;
  const double dense = measure::bound_s(with, named("infold-bfp32"), 8, 26214400);
  const double ring = measure::bound_s(with, named("gloo-ring"), 8, 26214400);
  const double share = 0.5695;  // 1 - 0.9^8
  EXPECT_NEAR(measure::bound_s(with, named("infold-blocks-bfp32"), 8, 26214400), share * dense,
              0.001);
  EXPECT_NEAR(measure::bound_s(with, named("infold-automatic-bfp32"), 8, 26214400), share * dense,
              0.001);
  EXPECT_NEAR(measure::bound_s(with, named("gloo-union"), 8, 26214400), share * ring, 0.001);
  // A rank receives a tenth of the tensor from each of seven other ranks. If each block is one
  // element, the indices have twice as many bytes as the values.
  EXPECT_NEAR(measure::bound_s(with, named("gloo-coo"), 8, 26214400),
              2.1927 * 0.7 * (1 + 1 / 128.0), 0.01);
  EXPECT_NEAR(measure::bound_s(with, named("gloo-coo-1"), 8, 26214400), 2.1927 * 0.7 * 3, 0.02);
  with.zeros.at_end = true;
  EXPECT_NEAR(measure::bound_s(with, named("infold-blocks-bfp32"), 8, 26214400), 0.1 * dense,
              0.001);
  EXPECT_THAT(describe(with), HasSubstr("90 % zeros at the end"));
}

TEST(Compare, SaysThatEachProcessHasAProcessor) {
  measure::Conditions with = conditions();
  EXPECT_THAT(describe(with), Not(HasSubstr("a processor for each process")));
  with.apart = true;
  EXPECT_THAT(describe(with), HasSubstr("a processor for each process"));
  const auto json = comparison_json({.conditions = with});
  EXPECT_TRUE(json["conditions"]["apart"].get<bool>());
}

TEST(Compare, SummarisesRoundsByTheirMedian) {
  const std::vector<measure::Summary> all = measure::summarise(conditions(), comparison().samples);
  ASSERT_EQ(all.size(), 8U);
  EXPECT_EQ(all[0].impl, "infold-bfp32");
  EXPECT_EQ(all[1].impl, "gloo-ring");
  EXPECT_EQ(all[2].bytes, 26214400U);
  EXPECT_EQ(all[4].world, 8U);
  EXPECT_DOUBLE_EQ(all[0].median_ms, 2.4096);
  EXPECT_DOUBLE_EQ(all[0].least_ms, 1.4096);
  EXPECT_DOUBLE_EQ(all[0].most_ms, 3.4096);
  EXPECT_DOUBLE_EQ(all[0].p99_ms, 4.8192);
  EXPECT_DOUBLE_EQ(all[0].goodput_mbps(), 4096 * 8 / 2.4096 / 1000);
  EXPECT_EQ(all[0].resent, 3U);
  EXPECT_EQ(all[0].check, "ok");
}

TEST(Compare, CountsFailuresAndWrongSums) {
  Comparison some = comparison();
  some.samples.resize(2);
  some.samples[0].error = "rank 1 ended with status 1";
  some.samples[1].measured["check"] = "wrong";
  const std::vector<measure::Summary> all = measure::summarise(some.conditions, some.samples);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].check, "failed");
  EXPECT_EQ(all[0].rounds, 0U);
  EXPECT_EQ(all[1].check, "wrong");
  const std::string table = comparison_table(some);
  EXPECT_THAT(table, HasSubstr("failed: infold-bfp32, 2 ranks, 4096 bytes, round 1: rank 1"));
  EXPECT_THAT(table, HasSubstr("STOPPED"));
  EXPECT_EQ(comparison_json(some)["samples"][0]["error"], "rank 1 ended with status 1");
  EXPECT_THAT(draw_times(some, 2), ::testing::EndsWith("</svg>\n"));
  some.samples.clear();
  EXPECT_THAT(draw_times(some, 2), ::testing::EndsWith("</svg>\n"));
  EXPECT_THAT(draw_goodput(some), ::testing::EndsWith("</svg>\n"));
}

TEST(Compare, TheTableSaysHowManyTimesTheFirst) {
  Comparison whole = comparison();
  whole.complete = true;
  const std::string table = comparison_table(whole);
  EXPECT_THAT(table, HasSubstr("8 ranks, 100mbit links, MTU 1500\n"));
  EXPECT_THAT(table, HasSubstr("25 MiB, 3 rounds\n"));
  EXPECT_THAT(table, HasSubstr("1.00x  ok, 3 resent\n"));
  EXPECT_THAT(table, HasSubstr("2.00x  ok, 3 resent\n"));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("STOPPED")));
  const nlohmann::ordered_json json = comparison_json(whole);
  EXPECT_EQ(json["samples"].size(), 24U);
  EXPECT_EQ(json["summaries"].size(), 8U);
  EXPECT_EQ(json["conditions"]["implementations"][1], "gloo-ring");
}

TEST(Compare, PicturesHoldEveryCurveAndBothBounds) {
  for (const std::string& svg : {draw_times(comparison(), 8), draw_goodput(comparison())}) {
    EXPECT_THAT(svg, ::testing::StartsWith("<svg"));
    EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
    EXPECT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(svg.begin(), svg.end(), '>'));
    for (const char* part :
         {"infold-bfp32", "gloo-ring", "bound, in the network", "bound, among hosts",
          "a &lt;machine&gt;", "line series-1", "line bound"}) {
      EXPECT_THAT(svg, HasSubstr(part));
    }
  }
}

TEST(Compare, PicturesOfUnshapedLinksSayWhyThereIsNoBound) {
  Comparison unshaped = comparison();
  unshaped.conditions.bits_per_second = 0;
  for (const std::string& svg : {draw_times(unshaped, 8), draw_goodput(unshaped)}) {
    EXPECT_THAT(svg, HasSubstr("no bound: links unshaped"));
    EXPECT_THAT(svg, ::testing::Not(HasSubstr("line bound")));
  }
  EXPECT_THAT(draw_times(comparison(), 8), ::testing::Not(HasSubstr("no bound")));
  unshaped.conditions.one_host = true;
  EXPECT_THAT(draw_times(unshaped, 8), HasSubstr("no bound: no links"));
  EXPECT_THAT(draw_times(unshaped, 8), HasSubstr("8 ranks, all on one host; medians"));
}

TEST(Compare, OneSizeIsDrawnAsBars) {
  Comparison one = comparison();
  one.conditions.bytes = {26'214'400};
  std::erase_if(one.samples, [](const auto& each) { return each.bytes != 26'214'400; });
  const std::string svg = draw_times(one, 8);
  EXPECT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(svg.begin(), svg.end(), '>'));
  for (const char* part : {"Time to sum 25 MiB over all ranks", "infold-bfp32", "gloo-ring", " ms<",
                           "mark series-1", "line bound"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("<circle")));
}

}  // namespace
}  // namespace infold::cli
