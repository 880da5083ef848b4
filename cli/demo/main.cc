// SPDX-License-Identifier: Apache-2.0
//
// Entry point of infold-demo. This program has `infold demo` and the two commands that the demo
// starts from its own executable: the switch in user space and the worker. It links only the half
// of infold that sums, so that a new machine can build it and draw the demo's picture soon.

#include <memory>
#include <vector>

#include "cli/commands.h"
#include "cli/line/parser.h"
#include "cli/switch/plane.h"

int main(int argc, char** argv) {
  using namespace infold::cli;
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_demo_command());
  commands.push_back(make_demo_worker_command());
  commands.push_back(make_switch_command({}));
  return run_as_main(commands, argc, argv,
                     {.name = "infold-demo",
                      .about = "The demo of infold, and the switch that it starts; ./dev build "
                               "makes infold with all commands"});
}
