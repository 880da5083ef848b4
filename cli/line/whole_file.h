// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes whole files that a command line names. The files are small.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tl/expected.hpp>

namespace infold::cli {

// The error gives the reason, without the file's name. Files longer than `bytes_max` are refused.
tl::expected<std::string, std::string> read_file(const std::string& path, std::size_t bytes_max);

// Both return the reason if the file cannot be written, together with its name. The first one opens
// the file without changing it, so that a long run does not fail only at its end.
std::optional<std::string> find_unwritable(const std::string& path);
std::optional<std::string> write_file(const std::string& path, const std::string& text);

}  // namespace infold::cli
