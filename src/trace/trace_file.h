// SPDX-License-Identifier: Apache-2.0
//
// Traces as files of MLCommons Chakra (*.et). The reader takes any version of the schema and keeps
// what it does not know. It makes no memory for a length that a file only claims. An error is one
// sentence about the place, and one about the remedy.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "trace/trace.h"

namespace infold::trace {

// A file above this is refused: its nodes would take several times as much memory.
inline constexpr std::size_t kFileBytesMax = std::size_t{1} << 30;

// Only the encoding is checked; find_fault() checks the rest.
tl::expected<Trace, std::string> decode(std::string_view bytes);
std::string encode(const Trace& trace);

// Reads a file, and finds its faults as trace_check.h does. The error begins with the file's name.
tl::expected<Trace, std::string> read(const std::string& path);
// The same, and takes traces with faults.
tl::expected<Trace, std::string> read_any(const std::string& path);
// The file appears as a whole, or not at all.
tl::expected<void, std::string> write(const Trace& trace, const std::string& path);

}  // namespace infold::trace
