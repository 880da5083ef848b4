// SPDX-License-Identifier: Apache-2.0
//
// The capabilities that this process has now. Reads only.
#pragma once

#include <cstdint>

namespace infold::io {

enum class Privilege : std::uint8_t { network_administration, bpf, tracing };

// The kernel's name of it, as "CAP_BPF".
const char* capability_name(Privilege privilege);
// Whether the process has the capability, or one that includes it.
bool holds(Privilege privilege);

}  // namespace infold::io
