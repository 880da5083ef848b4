// SPDX-License-Identifier: Apache-2.0
//
// What packet programs need of the kernel and of this process, asked before anything is changed.
#pragma once

#include <string>
#include <vector>

#include "xdp/attach/attempt.h"
#include "xdp/attach/interface.h"

namespace infold::xdp {

// Nothing starts without the kernel's version and the capabilities; the error is one sentence,
// which names every capability that is missing.
Attempt<void> check_host();

// The same and what else matters, thing by thing.
struct HostFinding {
  std::string name;
  bool ok = true;
  std::string found;
  std::string advice;  // what to do, empty if ok
};
std::vector<HostFinding> inspect_host();
// How a switch would sum at this interface, and what its workers would notice.
HostFinding inspect_interface(const Interface& interface);

}  // namespace infold::xdp
