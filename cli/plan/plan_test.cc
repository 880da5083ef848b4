// SPDX-License-Identifier: Apache-2.0
//
// Tests infold plan as a person would use it: its output, and the options that it refuses.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_folder_testing.h"
#include "cli/commands.h"
#include "cli/line/parser.h"
#include "study/sim/scenario/named.h"
#include "study/sim/simulation.h"

namespace infold::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  ExitCode code;
  std::string out;
  std::string log;

  std::vector<json> objects() const {
    std::vector<json> lines;
    for (std::size_t start = 0; start < out.size();) {
      const std::size_t end = out.find('\n', start);
      lines.push_back(json::parse(out.substr(start, end - start)));
      start = end + 1;
    }
    return lines;
  }
};

Outcome plan(std::vector<const char*> words) {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_plan_command());
  words.insert(words.begin(), {"infold", "plan"});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto code = run_command_line(commands, static_cast<int>(words.size()), words.data());
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

std::vector<std::string> placements(const Outcome& outcome) {
  std::vector<std::string> names;
  for (const json& line : outcome.objects()) {
    if (line.contains("placement")) names.push_back(line["placement"]);
  }
  return names;
}

TEST(PlanCommand, ShowsWhatIsFastestFirst) {
  const Outcome outcome =
      plan({"--ranks", "8", "--link", "10G", "--place", "host:100G", "--threads", "8"});
  EXPECT_EQ(outcome.code, ExitCode::kDone);
  EXPECT_EQ(outcome.log, "");
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("8 workers with links of 10 Gbit/s, 100 MB of f32 as native"),
                    HasSubstr("host:100G   85.6 ms    1.74x     2"),
                    HasSubstr("Best: host:100G, 1.74 times as fast as a ring."),
                    Not(HasSubstr("switch "))));
}

// One thread alone needs half a second of processor time. The links alone would need 86 ms.
TEST(PlanCommand, SaysThatProcessorsAreTheLimit) {
  const std::vector<const char*> words = {"--ranks", "8", "--link", "10G", "--place", "host:100G"};
  const Outcome outcome = plan(words);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("host:100G waits for processors"),
                                 HasSubstr("With 6 threads (--threads) the host would keep up.")));
  std::vector<const char*> of_links = words;
  of_links.insert(of_links.end(), {"--processors", "any"});
  EXPECT_THAT(plan(of_links).out,
              AllOf(HasSubstr("host:100G   85.6 ms"), Not(HasSubstr("processor "))));
}

TEST(PlanCommand, ProcessorsOfOneMachineAreTheLimitWhereLinksHaveNone) {
  const Outcome outcome = plan({"--ranks", "4", "--link", "none", "--place", "switch", "--place",
                                "host:none", "--shared-processors", "2"});
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.log;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("4 workers with links without a limit, 100 MB"),
                    HasSubstr("switch waits for processors: its packets take "),
                    HasSubstr(" on the 2 processors of the machine.\n"), Not(HasSubstr("inf "))));
  const auto lines = plan({"--link", "none", "--json"}).objects();
  EXPECT_TRUE(lines.front()["link_bits_per_second"].is_null());
  EXPECT_EQ(lines[1]["limit"], "processor");
}

class File {
 public:
  explicit File(const std::string& text) { std::ofstream(path_, std::ios::binary) << text; }
  const char* path() const { return path_.c_str(); }

 private:
  const base::TempFolder folder_;
  const std::string path_ = folder_.file("costs");
};

TEST(PlanCommand, ReadsTheCostsOfProcessorsFromAFile) {
  const File file(
      "rank_packet_ns = 1000\nrank_element_ns = 0\nsite_packet_ns = 2000\nsite_element_ns = 0\n"
      "own_packet_ns = 3000\nown_element_ns = 0\nring_byte_ns = 1\n");
  const auto lines =
      plan({"--ranks", "2", "--bytes", "1408000", "--link", "none", "--place", "switch",
            "--shared-processors", "1", "--processors", file.path(), "--json"})
          .objects();
  // 1000 chunks of two ranks: 2 x 1 us, plus 2 x 2 us for their contributions.
  double switch_ms = 0;
  for (const json& line : lines) {
    if (line.value("placement", "") == "switch") switch_ms = line["processors_ms"];
  }
  EXPECT_NEAR(switch_ms, 6, 1e-6);
}

TEST(PlanCommand, SaysWhatIsWrongWithAFileOfCosts) {
  const auto refusal = [](const char* path) {
    const Outcome outcome = plan({"--processors", path});
    EXPECT_EQ(outcome.code, ExitCode::kBadUsage);
    EXPECT_EQ(outcome.out, "");
    return outcome.log;
  };
  EXPECT_THAT(refusal("/nowhere/node.costs"),
              HasSubstr("--processors must be table, any, measure or a file; "
                        "'/nowhere/node.costs': cannot read the file: No such file"));
  EXPECT_THAT(refusal("/"), HasSubstr("'/': cannot read the file: Is a directory"));
  const File wrong("rank_packet_ns = fast\n");
  EXPECT_THAT(refusal(wrong.path()),
              HasSubstr(std::string(wrong.path()) +
                        ": line 1: rank_packet_ns is a number from 0 to 1000000, not 'fast'"));
  const File empty("");
  EXPECT_THAT(refusal(empty.path()), HasSubstr(": rank_packet_ns is missing"));
  const File large(std::string(20'000, '#'));
  EXPECT_THAT(refusal(large.path()), HasSubstr("more than 16384 bytes"));
}

TEST(PlanCommand, SitesAreAddedUp) {
  EXPECT_THAT(placements(plan({"--place", "host:10G", "--place", "host:25G", "--place", "switch",
                               "--place", "host:10gbit", "--json"})),
              ElementsAre("switch", "host:25G + 2 x host:10G + workers", "ring", "workers",
                          "host:25G + 2 x host:10G", "host:25G", "host:10G"));
}

// infold's switch is a program for Linux, so no switch with a port for each rank is assumed.
TEST(PlanCommand, WithoutAPlaceItAssumesAHostAndSaysSo) {
  EXPECT_THAT(placements(plan({"--link", "25G", "--json"})),
              ElementsAre("ring", "host:25G + workers", "workers", "host:25G"));
  EXPECT_THAT(plan({"--link", "25G"}).out, HasSubstr("No --place: assuming a Linux host"));
  EXPECT_THAT(plan({"--link", "25G", "--place", "switch"}).out, Not(HasSubstr("assuming")));
  EXPECT_THAT(placements(plan({"--place", "workers", "--json"})), ElementsAre("ring", "workers"));
}

TEST(PlanCommand, JsonHoldsTheQuestionTheWeightsAndTheAdvice) {
  const auto lines = plan({"--place", "host:10G", "--json", "--format", "bfp16", "--bytes", "25MiB",
                           "--mtu", "9000", "--rtt-us", "12.5", "--frame-bytes", "14"})
                         .objects();
  EXPECT_EQ(lines.front()["bytes"], 26'214'400);
  EXPECT_EQ(lines.front()["wire"], "bfp16");
  EXPECT_EQ(lines.front()["mtu"], 9000);
  EXPECT_EQ(lines.front()["rtt_us"], 12.5);
  EXPECT_EQ(lines.front()["frame_bytes"], 14);
  const json& mixed = lines[1];
  EXPECT_EQ(mixed["placement"], "host:10G + workers");
  EXPECT_EQ(mixed["sites"].size(), 9U);
  EXPECT_EQ(mixed["sites"][0]["weight"], 2);
  EXPECT_EQ(mixed["sites"][0]["share"], 0.2);
  EXPECT_GT(lines.back()["advice"].size(), 1U);
}

TEST(PlanCommand, NamesTheOptionAndWhatItAllows) {
  const struct {
    std::vector<const char*> words;
    const char* message;
  } kCases[] = {
      {{"--ranks", "1"}, "--ranks must be a whole number from 2 to 256, not '1'"},
      {{"--link", "10GB"}, "--link must be none, or a rate from 1M to 10T such as 10G or 100mbit"},
      {{"--link", "11T"}, "--link must be none, or a rate from 1M to 10T"},
      {{"--place", "switch", "--place", "host"}, "--place must be switch, workers, or host:RATE"},
      {{"--place", "host:1k"},
       "with none or a rate from 1M to 10T, at most 64 hosts in all, not 'host:1k'"},
      {{"--bytes", "0"}, "--bytes must be a size from 1B to 1TB such as 4KB or 25MiB, not '0'"},
      {{"--mtu", "500"}, "--mtu must be a whole number from 576 to 65535"},
      {{"--rtt-us", "-1"}, "--rtt-us must be a number from 0 to 1000000"},
      {{"--format", "f32"}, "--format must be one of automatic, native, bfp32, bfp16, bfp8"},
      {{"--save-processors", "x"},
       "--save-processors saves what --processors measure finds; give both"},
      {{"--shared-processors", "1025"},
       "--shared-processors must be a whole number from 0 to 1024, not '1025'"},
      {{"--dtype", "i32", "--format", "bfp8"},
       "wire format bfp8 is for sums and averages of floats"},
  };
  for (const auto& each : kCases) {
    const Outcome outcome = plan(each.words);
    EXPECT_EQ(outcome.code, ExitCode::kBadUsage) << each.message;
    EXPECT_THAT(outcome.log, HasSubstr(each.message));
    EXPECT_EQ(outcome.out, "") << each.message;
  }
}

TEST(PlanCommand, TakesAtMost64Hosts) {
  std::vector<const char*> words;
  for (int i = 0; i < 64; ++i) words.insert(words.end(), {"--place", "host:1G"});
  EXPECT_EQ(plan(words).code, ExitCode::kDone);
  words.insert(words.end(), {"--place", "host:1G"});
  EXPECT_THAT(plan(words).log, HasSubstr("at most 64 hosts in all"));
}

// Compares the model with the real state machines in virtual time. They differ by at most 1 %.
TEST(PlanCommand, AgreesWithTheSimulator) {
  for (const unsigned mbps : {100U, 1'000U}) {
    sim::NamedOptions options;
    options.workers = 8;
    options.elements = 400'000;
    options.format = "bfp32";
    options.bits_per_second = std::int64_t{mbps} * 1'000'000;
    options.round_trip = base::microseconds(50);
    const sim::Scenario scenario = sim::named_scenario("clean", 1, options).value();
    const sim::Outcome outcome = sim::Simulation(scenario).run();
    ASSERT_TRUE(outcome.passed());

    const std::string link = std::to_string(mbps) + "mbit";
    const auto lines =
        plan({"--link", link.c_str(), "--bytes", "1600KB", "--place", "switch", "--json"})
            .objects();
    ASSERT_EQ(lines[1]["placement"], "switch");
    const double predicted_ms = lines[1]["time_ms"];
    EXPECT_NEAR(static_cast<double>(outcome.finished_at.ns) / 1e6 / predicted_ms, 1, 0.01) << mbps;
  }
}

TEST(PlanCommand, AnswersEveryTypeAndSize) {
  for (const char* type : {"f32", "f16", "bf16", "f64", "i8", "u8", "i32", "i64"}) {
    for (const char* size : {"1", "4KB", "1TB"}) {
      const Outcome outcome = plan({"--dtype", type, "--bytes", size, "--mtu", "576"});
      EXPECT_EQ(outcome.code, ExitCode::kDone) << type << " " << size << ": " << outcome.log;
    }
  }
}

}  // namespace
}  // namespace infold::cli
