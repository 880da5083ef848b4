// SPDX-License-Identifier: Apache-2.0
//
// A name for the place where a process runs: one running kernel, one network namespace, one user.
// Processes with equal names can probably share memory. SharedMemoryMeeting finds out whether they
// can.
#pragma once

#include <string>
#include <string_view>

namespace infold::io {

// A different `name` makes a different host. Empty if the system does not say where this process
// is.
std::string host_identity(std::string_view name);

}  // namespace infold::io
