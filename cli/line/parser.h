// SPDX-License-Identifier: Apache-2.0
//
// Turns a command line into one run of one subcommand. It produces all texts about usage: --help,
// --version, --json and the messages for a bad command line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/line/command.h"

namespace CLI {
class App;
}

namespace infold::cli {

// A program as its texts about usage name it.
struct Program {
  std::string name = "infold";
  std::string about = "In-network aggregation for distributed training";
};

// Parses the command line and runs one of the commands. Usage errors go to stderr and return
// kBadUsage. Exceptions from the subcommand pass through.
ExitCode run_command_line(const std::vector<std::unique_ptr<Command>>& commands, int argc,
                          const char* const* argv, const Program& program = {});

// Does the same for main(): an exception from the subcommand becomes a line on stderr, and kFailed.
int run_as_main(const std::vector<std::unique_ptr<Command>>& commands, int argc,
                const char* const* argv, const Program& program = {});

// Calls visit() with the parser's root after all commands have declared their options.
void visit_command_line(const std::vector<std::unique_ptr<Command>>& commands,
                        const std::function<void(const CLI::App&)>& visit);

}  // namespace infold::cli
