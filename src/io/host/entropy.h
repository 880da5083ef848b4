// SPDX-License-Identifier: Apache-2.0
//
// Draws unpredictable numbers from the kernel. Nothing else in infold is random without a seed. It
// serves for epochs, which attackers must not guess, and for names, which must differ from the
// names of an earlier process. Any thread may call.
#pragma once

#include <cstdint>

namespace infold::io {

std::uint64_t fresh_number();

}  // namespace infold::io
