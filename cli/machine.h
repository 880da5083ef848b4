// SPDX-License-Identifier: Apache-2.0
//
// What `infold doctor` reads from this machine. Each function only looks; none changes a setting
// or needs a privilege. A finding that is not ok says what to do about it.
#pragma once

#include <string>
#include <vector>

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
// One finding per network interface that is up, apart from loopback.
std::vector<Finding> inspect_interfaces();
// The most that a socket may buffer in each direction.
std::vector<Finding> inspect_socket_buffers();
Finding inspect_privileges();

}  // namespace infold::cli
