// SPDX-License-Identifier: Apache-2.0
//
// The command line as data: each subcommand with its options, as --help shows them. The manual page
// and the shells' completions are made from it. No hidden subcommands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/line/command.h"

namespace infold::cli {

struct OptionText {
  std::vector<std::string> names;    // "-h", "--help"; the one name of a positional argument
  std::string type;                  // the text of --help behind the names; empty for a flag
  std::vector<std::string> choices;  // the allowed words, if --help lists them
  std::string help;
  bool is_positional = false;

  bool takes_value() const { return !type.empty(); }
  bool takes_file() const { return type == "FILE"; }
};

struct CommandText {
  std::string path;  // "infold bench core"
  std::string summary;
  std::vector<OptionText> options;
  std::vector<CommandText> subcommands;
  std::string examples;  // whole lines, as typed

  // The last word of the path.
  std::string name() const { return path.substr(path.rfind(' ') + 1); }
};

// Describes the program and all subcommands. It declares the commands, so they cannot run
// afterwards.
CommandText describe(const std::vector<std::unique_ptr<Command>>& commands);

}  // namespace infold::cli
