// SPDX-License-Identifier: Apache-2.0
//
// Writes a file that a command line names.
#pragma once

#include <optional>
#include <string>

namespace infold::cli {

// Returns the reason if the file cannot be written, with its name.
std::optional<std::string> write_file(const std::string& path, const std::string& text);

}  // namespace infold::cli
