// SPDX-License-Identifier: Apache-2.0
//
// Unpredictable numbers from the kernel. They are the only numbers that no seed decides: epochs
// that no attacker can guess, and names that differ from those of an earlier process. Any thread.
#pragma once

#include <cstdint>

namespace infold::io {

std::uint64_t fresh_number();

}  // namespace infold::io
