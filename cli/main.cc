// SPDX-License-Identifier: Apache-2.0
//
// Entry point of the infold binary.

#include "cli/commands.h"
#include "cli/line/parser.h"

int main(int argc, char** argv) {
  return infold::cli::run_as_main(infold::cli::make_commands(), argc, argv);
}
