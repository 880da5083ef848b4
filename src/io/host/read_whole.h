// SPDX-License-Identifier: Apache-2.0
//
// Reads a file to its end. Any thread may call.
#pragma once

#include <cstddef>
#include <string>

namespace infold::io {

// Appends to `text` until the end of the file, or until it is longer than `bytes_max`. Returns
// false if the system fails, with the reason in errno.
bool read_whole(int file, std::size_t bytes_max, std::string& text);

}  // namespace infold::io
