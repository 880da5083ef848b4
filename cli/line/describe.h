// SPDX-License-Identifier: Apache-2.0
//
// The command line as data: each subcommand with its options, as --help shows them. For what else
// tells people or shells about them: the manual page and completions. No hidden subcommands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/line/command.h"

namespace infold::cli {

struct OptionText {
  std::vector<std::string> names;    // "-h", "--help"; of a positional argument its one name
  std::string type;                  // what --help shows behind the names; empty for a flag
  std::vector<std::string> choices;  // the words that are allowed, if they are listed
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

// The program itself, with all that is below it. Declares the commands, so they cannot be run then.
CommandText describe(const std::vector<std::unique_ptr<Command>>& commands);

}  // namespace infold::cli
