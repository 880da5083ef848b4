// SPDX-License-Identifier: Apache-2.0
//
// The facts that `infold doctor` reads from this machine. The functions only read; they change no
// setting and need no privilege. A finding that is not ok has advice.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "io/host/descriptors.h"

namespace infold::cli {

struct Finding {
  std::string name;    // stable, for scripts: "cpu", "socket receive buffer", ...
  bool ok = true;      // false: infold works, but this limits it
  std::string found;   // the setting's value
  std::string advice;  // a command or an action; empty if ok
};

// Reports how this binary was built, and its optional parts.
std::vector<Finding> inspect_build();
// Reports the vector instructions that kernels choose from.
Finding inspect_cpu();
Finding inspect_kernel();
// Returns the names of network interfaces that are up, without loopback. Each comes once, however
// many addresses it has.
std::set<std::string> interfaces_up();
// Returns one finding for each of them.
std::vector<Finding> inspect_interfaces();
// Reports the largest buffer that a socket may have, in each direction.
std::vector<Finding> inspect_socket_buffers();
// Reports the limit on open files, and the number of connections that a switch then accepts.
Finding inspect_open_files(io::DescriptorLimits limits);
Finding inspect_privileges();
// Report whether this host can sum in the kernel (infold switch --plane xdp). The first gives one
// finding, which is never a warning, because most hosts do not need that. The second gives a
// finding for each requirement.
Finding inspect_kernel_plane();
std::vector<Finding> inspect_kernel_plane_closely();

}  // namespace infold::cli
