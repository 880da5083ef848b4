// SPDX-License-Identifier: Apache-2.0
//
// Tests infold whatif as a person would use it: its output, and what it refuses.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_folder_testing.h"
#include "cli/commands.h"
#include "cli/line/parser.h"
#include "trace/testing.h"
#include "trace/trace_file.h"

namespace infold::cli {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Outcome {
  ExitCode code;
  std::string out;
  std::string log;

  std::vector<json> predictions() const {
    std::vector<json> found;
    for (std::size_t start = 0; start < out.size();) {
      const std::size_t end = out.find('\n', start);
      json line = json::parse(out.substr(start, end - start));
      if (line["event"] == "prediction") found.push_back(std::move(line));
      start = end + 1;
    }
    return found;
  }
};

// A folder with traces of two ranks, which compute for 1 ms and sum 100 KB.
class WhatIfCommand : public testing::Test {
 protected:
  WhatIfCommand() {
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      trace::Trace trace;
      trace.attributes = {trace::make_attribute("rank", rank),
                          trace::make_attribute("world", std::int64_t{2})};
      trace.nodes = {
          trace::compute_node(1, 0, 1000),
          trace::collective_node(2, trace::CollectiveKind::all_reduce, 100'000, 1000, 900, {1})};
      EXPECT_TRUE(trace::write(trace, path(rank)));
    }
  }

  std::string path(std::int64_t rank) const { return file("t." + std::to_string(rank) + ".et"); }
  std::string file(const std::string& name) const { return folder_.file(name); }

  Outcome whatif(std::vector<std::string> words) const {
    std::vector<std::unique_ptr<Command>> commands;
    commands.push_back(make_whatif_command());
    std::vector<std::string> line = {"infold", "whatif", path(0), path(1)};
    line.insert(line.end(), words.begin(), words.end());
    std::vector<const char*> typed;
    for (const std::string& word : line) typed.push_back(word.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto code = run_command_line(commands, static_cast<int>(typed.size()), typed.data());
    return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  static std::string content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  const base::TempFolder folder_;
};

TEST_F(WhatIfCommand, ShowsTheSpreadOverSeedsWhereTheyMatter) {
  const std::vector<std::string> words = {"--link",  "100M",   "--ranks", "4",
                                          "--place", "switch", "--place", "workers"};
  std::vector<std::string> lossy = words;
  lossy.insert(lossy.end(), {"--loss", "0.02"});
  EXPECT_THAT(whatif(lossy).out, HasSubstr("step ms, 3 seeds"));
  lossy.push_back("--json");
  for (const json& each : whatif(lossy).predictions()) {
    EXPECT_LE(each["step_us_least"], each["step_us"]);
    EXPECT_LE(each["step_us"], each["step_us_most"]);
    EXPECT_LT(each["step_us_least"], each["step_us_most"]);
  }
  EXPECT_THAT(whatif({"--link", "100M", "--place", "switch"}).out, Not(HasSubstr("seeds")));
}

TEST_F(WhatIfCommand, RefusesTracesWithoutACall) {
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    trace::Trace trace;
    trace.attributes = {trace::make_attribute("rank", rank),
                        trace::make_attribute("world", std::int64_t{2})};
    trace.nodes = {trace::compute_node(1, 0, 1000)};
    ASSERT_TRUE(trace::write(trace, path(rank)));
  }
  const Outcome outcome = whatif({"--link", "1G"});
  EXPECT_EQ(outcome.code, ExitCode::kFailed);
  EXPECT_THAT(outcome.log, HasSubstr("t.0.et has no call between ranks"));
  EXPECT_EQ(outcome.out, "");
}

TEST_F(WhatIfCommand, ComparesPlacesAndSaysWhetherASwitchHelps) {
  const Outcome outcome = whatif({"--link", "100M", "--ranks", "8"});
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.log;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("run of 2 ranks, 1 step\n"),
                                 HasSubstr("predicted for 8 ranks, links of 100Mbit/s"),
                                 HasSubstr("A switch makes a step 1."),
                                 HasSubstr("No network makes a step more than ")));
  const auto places = whatif({"--link", "100M", "--json"}).predictions();
  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places[0]["place"], "nowhere");
  EXPECT_NEAR(places[0]["step_us"], 1000, 1);
  EXPECT_EQ(places[3]["place"], "switch");
  EXPECT_NEAR(places[3]["step_us"], 1000 + 8900, 200);
}

TEST_F(WhatIfCommand, MarksPredictionsThatWereNotComparedWithMeasuredSteps) {
  const std::string note = "* not compared with measured steps";
  const Outcome places = whatif({"--link", "100M", "--svg", file("steps.svg")});
  EXPECT_THAT(places.out, AllOf(HasSubstr("\n  ring * "), HasSubstr("\n  workers * "),
                                HasSubstr("\n  switch  "), HasSubstr("\n  nowhere  "),
                                HasSubstr("\n  " + note + "\n")));
  EXPECT_THAT(content(file("steps.svg")), AllOf(HasSubstr(">workers *<"), HasSubstr(note)));
  const Outcome sweep = whatif({"--sweep", "link=10M,100M", "--place", "switch", "--place",
                                "workers", "--svg", file("rate.svg")});
  EXPECT_THAT(sweep.out, AllOf(HasSubstr(" switch  workers *\n"), HasSubstr("\n  " + note + "\n")));
  EXPECT_THAT(content(file("rate.svg")), AllOf(HasSubstr(">workers *<"), HasSubstr(note)));
  EXPECT_THAT(whatif({"--link", "100M", "--place", "switch"}).out, Not(HasSubstr("*")));
  EXPECT_THAT(whatif({"--link", "100M", "--place", "switch", "--model", "formula"}).out,
              AllOf(HasSubstr("\n  switch * "), HasSubstr(note)));
  for (const json& each : whatif({"--link", "100M", "--json"}).predictions()) {
    EXPECT_EQ(each["unchecked"], each["place"] == "ring" || each["place"] == "workers");
  }
}

TEST_F(WhatIfCommand, SaysThatASwitchDoesNotHelp) {
  EXPECT_THAT(whatif({"--link", "100G", "--rtt-us", "10"}).out,
              AllOf(HasSubstr("does not change the time of a step"),
                    HasSubstr("hides the communication of the ring already")));
}

TEST_F(WhatIfCommand, SweepsAndDraws) {
  const Outcome outcome =
      whatif({"--sweep", "link=10M,100M", "--place", "switch", "--svg", file("rate.svg")});
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.log;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("\n  10M "), HasSubstr("\n  100M ")));
  EXPECT_THAT(
      content(file("rate.svg")),
      AllOf(HasSubstr("<polyline"), HasSubstr("</svg>"),
            HasSubstr("aria-label=\"Time of a training step against the rate of each link\"")));
  for (const std::string rates : {"none,10M,100M", "none,100M", "none"}) {
    EXPECT_EQ(whatif({"--sweep", "link=" + rates, "--svg", file("rate.svg")}).code,
              ExitCode::kDone);
    EXPECT_THAT(content(file("rate.svg")), HasSubstr("</svg>"));
  }
  const auto steps =
      whatif({"--sweep", "loss=0,0.1", "--place", "switch", "--link", "100M", "--json"})
          .predictions();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_GT(steps[1]["step_us"], steps[0]["step_us"]);
  EXPECT_EQ(whatif({"--svg", file("steps.svg")}).code, ExitCode::kDone);
  EXPECT_THAT(content(file("steps.svg")), HasSubstr("<rect class=\"mark series-0\""));
}

TEST_F(WhatIfCommand, WritesTimelineAndTracesOfOnePlace) {
  const Outcome outcome = whatif({"--place", "switch", "--link", "1G", "--ranks", "3", "--perfetto",
                                  file("run.json"), "--traces", file("new")});
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.log;
  EXPECT_THAT(content(file("run.json")), HasSubstr("rank 2"));
  const auto played = trace::read(file("new.2.et"));
  ASSERT_TRUE(played) << played.error();
  EXPECT_EQ(played->rank(), 2U);
  EXPECT_EQ(played->world(), 3U);
  EXPECT_NEAR(static_cast<double>(played->nodes[1].duration_us), 900, 30);
  EXPECT_THAT(whatif({"--perfetto", file("run.json")}).log, HasSubstr("name it with --place"));
}

TEST_F(WhatIfCommand, KeepsWhatItReads) {
  for (const std::string option : {"--svg", "--perfetto"}) {
    const Outcome outcome = whatif({"--place", "switch", option, path(1)});
    EXPECT_EQ(outcome.code, ExitCode::kBadUsage);
    EXPECT_THAT(outcome.log, HasSubstr("would be overwritten"));
  }
  EXPECT_THAT(whatif({"--place", "switch", "--traces", file("t")}).log,
              HasSubstr("would be overwritten"));
  EXPECT_EQ(trace::read(path(0))->nodes.size(), 2U);
}

TEST_F(WhatIfCommand, AsksOnlyPlacesThatSoManyRanksHave) {
  const Outcome outcome = whatif({"--sweep", "ranks=4,300", "--link", "1G", "--model", "formula"});
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.log;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("300 +[0-9.]+ +[0-9.]+ +- +-\n"));
}

TEST_F(WhatIfCommand, DoesNotCompareLossesWithARingThatHasNone) {
  EXPECT_THAT(whatif({"--link", "100M", "--loss", "0.01"}).out,
              HasSubstr("The ring's time has no losses in it."));
  EXPECT_THAT(whatif({"--model", "formula", "--loss", "0.01"}).log,
              HasSubstr("knows neither losses nor slots"));
}

TEST_F(WhatIfCommand, FindsFilesThatItCannotWriteBeforeItPredicts) {
  for (const std::string option : {"--svg", "--perfetto", "--traces"}) {
    const Outcome outcome = whatif({"--place", "switch", option, "/absent/a"});
    EXPECT_EQ(outcome.code, ExitCode::kFailed);
    EXPECT_THAT(outcome.log, HasSubstr("/absent/a"));
    EXPECT_THAT(outcome.log, HasSubstr(": No such file"));
    EXPECT_EQ(outcome.out, "");
  }
  // A run that fails later must not leave an empty file.
  EXPECT_EQ(whatif({"--place", "racks:2", "--svg", file("a.svg")}).code, ExitCode::kFailed);
  EXPECT_FALSE(std::filesystem::exists(file("a.svg")));
}

TEST_F(WhatIfCommand, RacksHaveLinksOfTheirOwn) {
  const auto step_us = [this](const std::string& rate) {
    const auto predictions = whatif({"--ranks", "4", "--place", "racks:2", "--link", "100M",
                                     "--rack-link", rate, "--json"})
                                 .predictions();
    EXPECT_EQ(predictions.size(), 1U);
    return predictions.empty() ? 0.0 : predictions.front()["step_us"].get<double>();
  };
  const double as_ranks = step_us("100M");
  const auto swept = whatif({"--ranks", "4", "--place", "racks:2", "--link", "100M", "--sweep",
                             "rack-link=20M,100M", "--svg", file("racks.svg"), "--json"})
                         .predictions();
  ASSERT_EQ(swept.size(), 2U);
  EXPECT_EQ(swept[1]["step_us"], as_ranks);
  EXPECT_EQ(swept[0]["rack_rate"], 20e6);
  EXPECT_THAT(content(file("racks.svg")), HasSubstr(">100M</text>"));
  EXPECT_GT(step_us("20M"), 2 * as_ranks);
  EXPECT_LT(step_us("none"), as_ranks);
  const Outcome outcome = whatif({"--ranks", "4", "--place", "racks:2", "--rack-link", "10G"});
  EXPECT_THAT(outcome.out, HasSubstr("links of any rate, racks' links of 10Gbit/s"));
  EXPECT_THAT(whatif({"--rack-link", "10G"}).log, HasSubstr("add --place racks:N"));
  EXPECT_THAT(whatif({"--sweep", "rack-link=1G"}).log, HasSubstr("add --place racks:N"));
}

TEST_F(WhatIfCommand, RefusesWhatItCannotPredict) {
  EXPECT_THAT(whatif({"--place", "racks"}).log, HasSubstr("racks:N"));
  EXPECT_THAT(whatif({"--place", "hosts:65"}).log, HasSubstr("1 to 64 hosts"));
  EXPECT_THAT(whatif({"--sweep", "speed=1"}).log, HasSubstr("link=100M,1G,10G"));
  EXPECT_THAT(whatif({"--sweep", "ranks=2,x"}).log, HasSubstr("ranks=x: must be 2 to 1024"));
  EXPECT_THAT(whatif({"--sweep", "loss=0.5"}).log, HasSubstr("loss=0.5: must be 0 to 0.3"));
  EXPECT_THAT(whatif({"--sweep", "link"}).log, HasSubstr("--sweep link: must be link"));
  EXPECT_THAT(whatif({"--sweep", "loss=0,0.1", "--loss", "0.1"}).log,
              HasSubstr("--sweep loss replaces --loss"));
  const Outcome formula = whatif({"--model", "formula", "--place", "hosts:2"});
  EXPECT_EQ(formula.code, ExitCode::kBadUsage);
  EXPECT_EQ(formula.out, "");
  EXPECT_THAT(formula.log, HasSubstr("--model formula knows neither racks nor hosts"));
  const Outcome racks = whatif({"--place", "racks:2"});
  EXPECT_EQ(racks.code, ExitCode::kFailed);
  EXPECT_THAT(racks.log, HasSubstr("2 racks cannot hold"));
  EXPECT_THAT(whatif({path(1)}).log, HasSubstr("are both of rank 1"));
  EXPECT_THAT(whatif({"--apart", path(0)}).log, HasSubstr("no compute of the trace"));
}

}  // namespace
}  // namespace infold::cli
