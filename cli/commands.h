// SPDX-License-Identifier: Apache-2.0
//
// Where each subcommand is declared, one line each, in alphabetical order. Its file defines it.
#pragma once

#include <memory>
#include <vector>

#include "cli/command.h"

namespace infold::cli {

std::unique_ptr<Command> make_doctor_command();

// A group holds subcommands of its own, such as "bench" for "bench core".
struct CommandGroup {
  std::string_view name;
  std::string_view summary;
};

std::vector<CommandGroup> command_groups();

// All of the above, in the order in which --help lists them.
std::vector<std::unique_ptr<Command>> make_commands();

}  // namespace infold::cli
