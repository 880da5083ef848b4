// SPDX-License-Identifier: Apache-2.0
//
// What `infold doctor` reads from this machine. Each function only looks; none changes a setting
// or needs a privilege. A finding that is not ok says what to do about it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "io/host/descriptors.h"

namespace infold::cli {

struct Finding {
  std::string name;    // stable, for scripts: "cpu", "socket receive buffer", ...
  bool ok = true;      // false: infold works, but this holds it back
  std::string found;   // what is there
  std::string advice;  // what to do, empty if ok
};

// How this binary was built, and its optional parts.
std::vector<Finding> inspect_build();
// The vector instructions that kernels choose from.
Finding inspect_cpu();
Finding inspect_kernel();
// Names of network interfaces that are up, apart from loopback; one each, whatever its addresses.
std::set<std::string> interfaces_up();
// One finding for each of them.
std::vector<Finding> inspect_interfaces();
// The most that a socket may buffer in each direction.
std::vector<Finding> inspect_socket_buffers();
// Files that a process may have open, and how many connections a switch then takes.
Finding inspect_open_files(io::DescriptorLimits limits);
Finding inspect_privileges();
// Whether this host can sum in the kernel (infold switch --plane xdp): in one finding, which is no
// warning, since nobody has to; or all that it takes.
Finding inspect_kernel_plane();
std::vector<Finding> inspect_kernel_plane_closely();

}  // namespace infold::cli
