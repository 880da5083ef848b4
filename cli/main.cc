// SPDX-License-Identifier: Apache-2.0
//
// Entry point of the infold binary.

#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "cli/line/parser.h"

int main(int argc, char** argv) {
  using namespace infold::cli;
  try {
    return static_cast<int>(run_command_line(make_commands(), argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "infold: %s\n", error.what());
    return static_cast<int>(ExitCode::kFailed);
  }
}
