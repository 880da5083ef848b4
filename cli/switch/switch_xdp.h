// SPDX-License-Identifier: Apache-2.0
//
// `infold switch --plane xdp`: the daemon that runs with the packet program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/line/command.h"
#include "cli/line/output.h"
#include "io/address/socket_address.h"

namespace infold::cli {

struct XdpSwitchOptions {
  io::SocketAddress listen;
  io::SocketAddress control;
  io::SocketAddress metrics;  // unset: none
  std::vector<std::string> interfaces;
  std::uint32_t slots = 0;
  std::uint32_t mtu = 0;
  bool pin = false;
  io::SocketAddress parent;  // unset: none
};

// Works until a signal stops it. Requires: an InterruptGuard.
ExitCode run_xdp_switch(const XdpSwitchOptions& options, Output& output);

}  // namespace infold::cli
