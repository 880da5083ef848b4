// SPDX-License-Identifier: Apache-2.0
//
// What this process may do that not every process may, as it is now. Read only.
#pragma once

#include <cstdint>

namespace infold::io {

enum class Privilege : std::uint8_t { network_administration, bpf, tracing };

// As the kernel calls it, "CAP_BPF".
const char* capability_name(Privilege privilege);
// Whether by the capability itself or by one that the kernel takes for it.
bool holds(Privilege privilege);

}  // namespace infold::io
