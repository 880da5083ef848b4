// SPDX-License-Identifier: Apache-2.0

#include "cli/line/parser.h"

#include <limits>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/line/usage.h"

namespace infold::cli {
namespace {

using testing::HasSubstr;

struct Typed {
  std::uint32_t workers = 4;
  std::uint64_t seed = 0;
  double loss = 0.01;
  std::string format = "bfp32";
  bool verbose = false;
  double rate = 10e9;
  std::uint64_t size = 25'000'000;
  std::vector<std::string> names;
  std::optional<bool> check;
  std::uint32_t times = 1;
  std::optional<std::uint64_t> most;
  std::string picture;
};

// A command with one option of each kind, which reports the values that it got.
class Probe final : public Command {
 public:
  Probe(std::string_view name, Typed& typed) : name_(name), typed_(typed) {}

  std::string_view name() const override { return name_; }
  std::string_view summary() const override { return "Probe"; }
  void declare(Options& options) override {
    options.whole("--workers", typed_.workers, {2, 64}, "Number of workers");
    options.whole("--seed", typed_.seed, {0, std::numeric_limits<std::uint64_t>::max()}, "Seed");
    options.real("--loss", typed_.loss, {0.0, 0.3}, "Fraction of packets lost");
    options.choice("--format", typed_.format, {"bfp32", "bfp16"}, "Format on the wire");
    options.flag("--verbose", typed_.verbose, "Say more");
    options.exclude("--seed", "--verbose");
    options.rate("--rate", typed_.rate, {1e6, 1e12}, "Rate of a link");
    options.bytes("--size", typed_.size, {4, 1'000'000}, "Size of a tensor");
    options.toggle("-c,--check", typed_.check, "Check");
    options.whole("-n,--times,--repeats", typed_.times, {1, 9}, "How often");
    options.bytes("-e,--most", typed_.most, {4, 1'000'000}, "Largest size");
    options.list("--name", "NAME", "short", "A name", [this](const std::string& name) {
      if (name.size() > 3) return false;
      typed_.names.push_back(name);
      return true;
    });
    options.path("--picture", typed_.picture, "Picture to write");
    options.config_file("--config", "File of options");
  }
  ExitCode run(Output& output) override {
    output.object({{"ran", name_}});
    return ExitCode::kFailed;  // no other outcome in this test has this status
  }

 private:
  std::string_view name_;
  Typed& typed_;
};

struct Outcome {
  ExitCode code;
  std::string out;
  std::string log;
};

class ParserTest : public testing::Test {
 protected:
  Outcome run(std::vector<const char*> words) {
    std::vector<std::unique_ptr<Command>> commands;
    commands.push_back(std::make_unique<Probe>("probe", typed_));
    commands.push_back(std::make_unique<Probe>("bench probe", typed_));
    commands.push_back(std::make_unique<Probe>("bench core", typed_));
    words.insert(words.begin(), "infold");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const auto code = run_command_line(commands, static_cast<int>(words.size()), words.data());
    return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }

  Typed typed_;
};

TEST_F(ParserTest, StoresWhatWasTyped) {
  const auto outcome = run({"probe", "--workers", "64", "--loss=0.3", "--format", "bfp16", "--seed",
                            "18446744073709551615", "--json"});
  EXPECT_EQ(outcome.code, ExitCode::kFailed);
  EXPECT_EQ(outcome.out, "{\"ran\":\"probe\"}\n");
  EXPECT_EQ(typed_.workers, 64U);
  EXPECT_EQ(typed_.loss, 0.3);
  EXPECT_EQ(typed_.format, "bfp16");
  EXPECT_EQ(typed_.seed, std::numeric_limits<std::uint64_t>::max());
}

TEST_F(ParserTest, StoresQuantitiesAndLists) {
  EXPECT_EQ(run({"probe", "--rate", "100mbit", "--name", "a", "--size", "4KiB", "--name=b"}).code,
            ExitCode::kFailed);
  EXPECT_EQ(typed_.rate, 100e6);
  EXPECT_EQ(typed_.size, 4096U);
  EXPECT_THAT(typed_.names, testing::ElementsAre("a", "b"));
  EXPECT_THAT(run({"probe", "--rate", "2T"}).log,
              HasSubstr("--rate must be a rate from 1M to 1T such as 10G or 100mbit, not '2T'"));
  EXPECT_THAT(run({"probe", "--size", "2"}).log,
              HasSubstr("--size must be a size from 4B to 1MB such as 4KB or 25MiB, not '2'"));
  EXPECT_THAT(run({"probe", "--name", "a", "--name", "long"}).log,
              HasSubstr("--name must be short, not 'long'"));
  // The second word is neither an option nor an argument.
  EXPECT_EQ(run({"probe", "--name", "a", "b"}).code, ExitCode::kBadUsage);
}

// An empty path usually comes from a shell variable that is not set.
TEST_F(ParserTest, APathIsNotEmpty) {
  EXPECT_EQ(run({"probe", "--picture", "a.svg"}).code, ExitCode::kFailed);
  EXPECT_EQ(typed_.picture, "a.svg");
  for (const std::string option : {"--picture", "--config"}) {
    const auto outcome = run({"probe", option.c_str(), ""});
    EXPECT_EQ(outcome.code, ExitCode::kBadUsage);
    EXPECT_THAT(outcome.log, HasSubstr(option + " must be a path, not ''\n"));
  }
  EXPECT_EQ(run({"probe", "--picture="}).code, ExitCode::kBadUsage);
}

TEST_F(ParserTest, TakesAToggleAloneOrWithItsValue) {
  EXPECT_EQ(run({"probe"}).code, ExitCode::kFailed);
  EXPECT_EQ(typed_.check, std::nullopt);
  EXPECT_EQ(run({"probe", "-c", "0"}).code, ExitCode::kFailed);
  EXPECT_EQ(typed_.check, false);
  EXPECT_EQ(run({"probe", "--check"}).code, ExitCode::kFailed);
  EXPECT_EQ(typed_.check, true);
  typed_.check.reset();
  EXPECT_EQ(run({"probe", "--check", "--json"}).code, ExitCode::kFailed);
  EXPECT_EQ(typed_.check, true);
  EXPECT_EQ(run({"probe", "--check=0"}).code, ExitCode::kFailed);
  EXPECT_EQ(typed_.check, false);
  EXPECT_THAT(run({"probe", "-c", "2"}).log, HasSubstr("--check must be 0 or 1, not '2'"));
}

TEST_F(ParserTest, TakesAnyOfAnOptionsNames) {
  for (const char* name : {"-n", "--times", "--repeats"}) {
    typed_.times = 1;
    EXPECT_EQ(run({"probe", name, "7"}).code, ExitCode::kFailed) << name;
    EXPECT_EQ(typed_.times, 7U) << name;
  }
  EXPECT_THAT(run({"probe", "-n", "70"}).log, HasSubstr(" --times must be a whole number"));
  EXPECT_EQ(typed_.most, std::nullopt);
  EXPECT_EQ(run({"probe", "-e", "8K"}).code, ExitCode::kFailed);
  EXPECT_EQ(typed_.most, 8192U);
}

TEST_F(ParserTest, SaysHowQuantitiesAreWritten) {
  const std::string help = run({"probe", "--help"}).out;
  EXPECT_THAT(help, HasSubstr("Sizes: MB is 1000 x 1000 bytes; MiB and M are 1024 x 1024"));
  EXPECT_THAT(help, HasSubstr("Rates: G, Gbit and gbps mean"));
}

TEST_F(ParserTest, KeepsDefaultsOfOptionsThatWereNotTyped) {
  EXPECT_EQ(run({"probe"}).code, ExitCode::kFailed);
  EXPECT_EQ(typed_.workers, 4U);
  EXPECT_EQ(typed_.loss, 0.01);
  EXPECT_FALSE(typed_.verbose);
}

TEST_F(ParserTest, FindsSubcommandsOfAGroup) {
  EXPECT_EQ(run({"bench", "probe", "--json"}).out, "{\"ran\":\"bench probe\"}\n");
}

TEST_F(ParserTest, NamesTheOptionAndItsRange) {
  for (const char* value : {"1", "65", "-3", "4.5", "four", "4x", "", "99999999999999999999"}) {
    const auto outcome = run({"probe", "--workers", value});
    EXPECT_EQ(outcome.code, ExitCode::kBadUsage) << value;
    EXPECT_THAT(outcome.log, HasSubstr("--workers must be a whole number from 2 to 64")) << value;
    EXPECT_EQ(outcome.out, "") << value;
  }
  for (const char* value : {"0.31", "-0.1", "nan", "inf", "1%"}) {
    const auto outcome = run({"probe", "--loss", value});
    EXPECT_EQ(outcome.code, ExitCode::kBadUsage) << value;
    EXPECT_THAT(outcome.log, HasSubstr("--loss must be a number from 0 to 0.3")) << value;
  }
  EXPECT_THAT(run({"probe", "--loss", "1%"}).log, HasSubstr("not '1%'; write 0.01 for 1%\n"));
  EXPECT_THAT(run({"probe", "--rate", "1MB/s"}).log, HasSubstr("bits: 1MB/s is 8Mbit\n"));
  EXPECT_THAT(run({"probe", "--format", "f32"}).log,
              HasSubstr("--format must be one of bfp32, bfp16, not 'f32'"));
}

TEST_F(ParserTest, RefusesUnknownWords) {
  EXPECT_EQ(run({"prob"}).code, ExitCode::kBadUsage);
  EXPECT_THAT(run({"prob"}).log, HasSubstr("there is no command 'prob'; did you mean probe?"));
  EXPECT_THAT(run({"bench", "pbrobe"}).log, HasSubstr("no command 'pbrobe'; did you mean probe?"));
  EXPECT_THAT(run({"xyz"}).log, HasSubstr("infold: there is no command 'xyz'\n"));
  EXPECT_THAT(run({"help", "prob"}).log, HasSubstr("there is no command 'prob'; did you mean"));
  const auto outcome = run({"bench", "probe", "--wrokers", "3"});
  EXPECT_THAT(outcome.log, HasSubstr("there is no option --wrokers; did you mean --workers?"));
  EXPECT_THAT(outcome.log, HasSubstr("Try 'infold bench probe --help'"));
  EXPECT_THAT(run({"probe", "--x=1"}).log, HasSubstr("there is no option --x\n"));
  EXPECT_THAT(run({"probe", "--seed", "1", "two words", "extra"}).log,
              HasSubstr("the argument 'two words' is not expected here"));
  // The command exists, but in a group.
  EXPECT_THAT(run({"core"}).log, HasSubstr("no command 'core'; did you mean infold bench core?"));
  EXPECT_THAT(run({"bench", "core-no"}).log, HasSubstr("there is no command 'core-no'\n"));
}

// Options that several commands had under different names refuse the old one with the new one.
TEST_F(ParserTest, AnOldNameIsRefusedWithTheNewOne) {
  EXPECT_THAT(run({"probe", "--wire", "bfp16"}).log,
              HasSubstr("the option --wire is now called --format"));
  EXPECT_THAT(run({"probe", "--wire=bfp16"}).log,
              HasSubstr("the option --wire is now called --format"));
  // A command without the new name does not have the option at all.
  EXPECT_THAT(run({"probe", "--world", "4"}).log, HasSubstr("there is no option --world"));
}

TEST_F(ParserTest, SaysWhatIsWrongWithAnOptionInWords) {
  EXPECT_THAT(run({"probe", "--seed", "1", "--seed", "2"}).log,
              HasSubstr("--seed may be given only once"));
  EXPECT_THAT(run({"probe", "--seed"}).log, HasSubstr("--seed needs a value"));
  EXPECT_THAT(run({"probe", "--verbose=maybe"}).log, HasSubstr("--verbose takes no value"));
  EXPECT_THAT(run({"probe", "--seed", "1", "--verbose"}).log,
              HasSubstr("give --seed or --verbose, not both"));
}

TEST_F(ParserTest, NothingAndAGroupAloneAskForHelp) {
  EXPECT_EQ(run({}).code, ExitCode::kDone);
  EXPECT_THAT(run({}).out, HasSubstr("infold help COMMAND"));
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"bench"}).out, run({"bench", "--help"}).out);
  EXPECT_EQ(run({"help", "bench", "probe"}).out, run({"bench", "probe", "--help"}).out);
}

TEST(Closest, FindsNamesThatDifferByALetterOrTwo) {
  const std::vector<std::string> names = {"demo", "switch", "sim", "--metrics"};
  EXPECT_EQ(closest("swich", names), "switch");
  EXPECT_EQ(closest("siwtch", names), "switch");
  EXPECT_EQ(closest("--metrisc", names), "--metrics");
  EXPECT_EQ(closest("dem", names), "demo");
  EXPECT_EQ(closest("domes", names), "");
  EXPECT_EQ(closest("si", names), "");
  EXPECT_EQ(closest("anything", names), "");
}

TEST_F(ParserTest, HelpGoesToStdoutAndSucceeds) {
  const auto outcome = run({"probe", "--help"});
  EXPECT_EQ(outcome.code, ExitCode::kDone);
  for (const char* range : {"--workers 2..64", "--rate 1M..1T", "--size 4B..1MB"}) {
    EXPECT_THAT(outcome.out, HasSubstr(range));
  }
  EXPECT_THAT(outcome.out, HasSubstr("Number of workers (default 4)"));
  EXPECT_THAT(outcome.out, HasSubstr("Rate of a link (default 10G)"));
  EXPECT_THAT(outcome.out, HasSubstr("Size of a tensor (default 25MB)"));
  EXPECT_THAT(outcome.out, HasSubstr("A name; may be repeated"));
  EXPECT_EQ(outcome.log, "");
}

}  // namespace
}  // namespace infold::cli
