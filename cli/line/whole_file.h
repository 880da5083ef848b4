// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the small files that a command line names, as a whole.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tl/expected.hpp>

namespace infold::cli {

// The error says why, without the file's name. Longer files are refused.
tl::expected<std::string, std::string> read_file(const std::string& path, std::size_t bytes_max);

// Returns the reason if the file cannot be written, with its name.
std::optional<std::string> write_file(const std::string& path, const std::string& text);

}  // namespace infold::cli
