// SPDX-License-Identifier: Apache-2.0
//
// Turns a command line into one run of one subcommand. It makes all texts about usage: --help,
// --version, --json and the messages for a bad command line.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cli/line/command.h"

namespace CLI {
class App;
}

namespace infold::cli {

// Parses the command line and runs one of the commands. Errors of usage go to stderr and return
// kBadUsage. Exceptions of the subcommand pass through.
ExitCode run_command_line(const std::vector<std::unique_ptr<Command>>& commands, int argc,
                          const char* const* argv);

// Calls visit() with the parser's root, once all commands have declared their options.
void visit_command_line(const std::vector<std::unique_ptr<Command>>& commands,
                        const std::function<void(const CLI::App&)>& visit);

}  // namespace infold::cli
