// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes traces as files of MLCommons Chakra (*.et). The reader accepts any version of
// the schema and keeps fields that it does not know. It never allocates memory for a length that a
// file merely claims. An error says where the fault is and what to do.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "trace/trace.h"

namespace infold::trace {

// The reader refuses larger files, because their nodes would take several times as much memory.
inline constexpr std::size_t kFileBytesMax = std::size_t{1} << 30;

// Checks only the encoding; find_fault() checks the rest.
tl::expected<Trace, std::string> decode(std::string_view bytes);
std::string encode(const Trace& trace);

// Reads a file, and fails if find_fault() finds a fault. The error begins with the file's name.
tl::expected<Trace, std::string> read(const std::string& path);
// Does the same, but accepts traces with faults.
tl::expected<Trace, std::string> read_any(const std::string& path);
// Writes a file that appears as a whole or not at all.
tl::expected<void, std::string> write(const Trace& trace, const std::string& path);

}  // namespace infold::trace
