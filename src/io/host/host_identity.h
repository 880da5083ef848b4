// SPDX-License-Identifier: Apache-2.0
//
// A name for the place where a process runs, equal for two processes only if they can be expected
// to share memory: one running kernel, one network namespace, one user. A guess that saves
// attempts, not a proof: SharedMemoryMeeting is that.
#pragma once

#include <string>
#include <string_view>

namespace infold::io {

// `name` tells apart what else would count as one host. Empty where the system does not say.
std::string host_identity(std::string_view name);

}  // namespace infold::io
