// SPDX-License-Identifier: Apache-2.0
//
// The command line as data: each subcommand with its options, as --help shows them, but without
// hidden subcommands. The manual page and the shells' completions are generated from it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/line/command.h"

namespace infold::cli {

struct OptionText {
  std::vector<std::string> names;    // "-h", "--help"; a positional argument has one name
  std::string type;                  // what --help prints after the names; empty for a flag
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

// Describes the program and all subcommands. The commands declare their options during this, so
// they cannot run afterwards.
CommandText describe(const std::vector<std::unique_ptr<Command>>& commands);

}  // namespace infold::cli
