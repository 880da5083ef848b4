// SPDX-License-Identifier: Apache-2.0
//
// Checks, before anything is changed, whether the kernel and this process can run packet programs.
#pragma once

#include <string>
#include <vector>

#include "base/attempt.h"
#include "planes/xdp/attach/interface.h"

namespace infold::xdp {

// Checks the kernel's version and the capabilities that every switch needs. The error is one
// sentence and names all missing capabilities.
base::Attempt<void> check_host();

// Checks these and all other requirements one by one.
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
