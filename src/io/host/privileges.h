// SPDX-License-Identifier: Apache-2.0
//
// Reads which capabilities this process has now.
#pragma once

#include <cstdint>

namespace infold::io {

enum class Privilege : std::uint8_t { network_administration, bpf, tracing };

// The kernel's name for the capability, such as "CAP_BPF".
const char* capability_name(Privilege privilege);
// Whether the process has this capability or one that includes it.
bool holds(Privilege privilege);

}  // namespace infold::io
