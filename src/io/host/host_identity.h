// SPDX-License-Identifier: Apache-2.0
//
// Names the place where a process runs: one running kernel, one network namespace, one user.
// Processes with equal names can probably share memory; SharedMemoryMeeting finds out whether they
// really can.
#pragma once

#include <string>
#include <string_view>

namespace infold::io {

// Processes with different `name` arguments count as different hosts. Returns an empty text if the
// system does not say where this process runs.
std::string host_identity(std::string_view name);

}  // namespace infold::io
