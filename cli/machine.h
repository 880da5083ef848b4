// SPDX-License-Identifier: Apache-2.0
//
// The facts that `infold doctor` reads from this machine. The functions only read, so they need no
// privilege and change no setting. A finding that is not ok has advice.
#pragma once

#include <cstdint>
#include <optional>
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
// Returns the names of the network interfaces that are up, except loopback. Each name appears once,
// even if the interface has several addresses.
std::set<std::string> interfaces_up();
// Returns one finding for each of these interfaces.
std::vector<Finding> inspect_interfaces();
// Reports the largest buffer that a socket may have in each direction. The first reports it for the
// direction ("receive") and the kernel's setting ("rmem_max") with this value; nullopt: unknown.
Finding inspect_socket_buffer(const std::string& direction, const std::string& key,
                              std::optional<std::uint64_t> bytes_max);
std::vector<Finding> inspect_socket_buffers();
// Reports the limit on open files, and how many connections a switch can accept under it.
Finding inspect_open_files(io::DescriptorLimits limits);
Finding inspect_privileges();
// Both report whether this host can sum in the kernel (infold switch --plane xdp). The first
// returns a single finding, which is never a warning, because most hosts do not need that plane.
// The second returns a finding for each requirement.
Finding inspect_kernel_plane();
std::vector<Finding> inspect_kernel_plane_closely();

}  // namespace infold::cli
