// SPDX-License-Identifier: Apache-2.0
#include "cli/planes/planes.h"

#include "cli/commands.h"

namespace infold::cli {

std::unique_ptr<Command> make_switch_command() {
  return make_switch_command({.xdp = make_xdp_plane(), .p4 = make_p4_plane()});
}

}  // namespace infold::cli
