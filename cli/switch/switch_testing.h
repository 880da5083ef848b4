// SPDX-License-Identifier: Apache-2.0
//
// Runs `infold switch` with a given command line and captures or checks what it prints. For tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/line/parser.h"

namespace infold::cli {

struct Outcome {
  ExitCode code;
  std::string out;
  std::string log;
};

inline Outcome start_switch(std::unique_ptr<Command> command, std::vector<const char*> words) {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::move(command));
  words.insert(words.begin(), {"infold", "switch"});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const auto code = run_command_line(commands, static_cast<int>(words.size()), words.data());
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

struct Refusal {
  std::vector<const char*> words;
  const char* text;  // a part of the message
};

// `make_command` creates a new command for each case.
template <typename MakeCommand>
void expect_refused(MakeCommand make_command, const std::vector<Refusal>& refusals) {
  for (const Refusal& each : refusals) {
    const Outcome outcome = start_switch(make_command(), each.words);
    EXPECT_EQ(outcome.code, ExitCode::kBadUsage) << each.text;
    EXPECT_EQ(outcome.out, "") << each.text;
    EXPECT_THAT(outcome.log, testing::HasSubstr(each.text));
  }
}

}  // namespace infold::cli
