// SPDX-License-Identifier: Apache-2.0
//
// Checks before any change whether the kernel and this process can run packet programs.
#pragma once

#include <string>
#include <vector>

#include "base/attempt.h"
#include "xdp/attach/interface.h"

namespace infold::xdp {

// The kernel's version and the capabilities, without which no switch starts. The error is one
// sentence and names every missing capability.
base::Attempt<void> check_host();

// The same and all other requirements, one by one.
struct HostFinding {
  std::string name;
  bool ok = true;
  std::string found;
  std::string advice;  // what to do; empty if ok
};
std::vector<HostFinding> inspect_host();
// How a switch would sum at this interface, and what that means for its workers.
HostFinding inspect_interface(const Interface& interface);

}  // namespace infold::xdp
