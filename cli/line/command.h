// SPDX-License-Identifier: Apache-2.0
//
// One subcommand of the infold binary. A subcommand lives in one file, is declared in commands.h
// and listed in registry.cc. parser.cc handles --help, --json and bad usage for all of them.
#pragma once

#include <string_view>

#include "cli/line/options.h"
#include "cli/line/output.h"

namespace infold::cli {

// The exit status of the process. Scripts depend on these values, so they never change.
enum class ExitCode { kDone = 0, kFailed = 1, kBadUsage = 2 };

class Command {
 public:
  virtual ~Command() = default;

  // The name as typed: "demo", or "bench core" for a subcommand of a group.
  virtual std::string_view name() const = 0;
  // One sentence without a full stop, shown in the list of subcommands.
  virtual std::string_view summary() const = 0;
  // A hidden command is not in --help's list, because other subcommands start it and people do not.
  virtual bool is_hidden() const { return false; }
  // Adds options that are bound to members of this object. Called once, before parsing.
  virtual void declare(Options& options) = 0;
  // Called after parsing has succeeded. May throw; main then reports the exception and returns
  // kFailed.
  virtual ExitCode run(Output& output) = 0;
};

}  // namespace infold::cli
