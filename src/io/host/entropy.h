// SPDX-License-Identifier: Apache-2.0
//
// The one source of numbers that no seed decides: for epochs that nobody can guess, and for names
// that must differ from those of an earlier life of the same process. Any thread.
#pragma once

#include <cstdint>

namespace infold::io {

std::uint64_t fresh_number();

}  // namespace infold::io
