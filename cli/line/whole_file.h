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

// Both return the reason if the file cannot be written, with its name. The first one opens the
// file, which it does not change, to find out before a long run.
std::optional<std::string> find_unwritable(const std::string& path);
std::optional<std::string> write_file(const std::string& path, const std::string& text);

}  // namespace infold::cli
