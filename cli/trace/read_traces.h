// SPDX-License-Identifier: Apache-2.0
//
// Reads the traces that a command line names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "cli/line/command.h"
#include "trace/trace_check.h"

namespace infold::cli {

// Returns all traces, each checked on its own. An error describes the first bad file.
tl::expected<std::vector<trace::NamedTrace>, std::string> read_traces(
    std::span<const std::string> files);

// Returns the exit status for such an error: bad usage if a file cannot be opened, because the
// command line is then wrong, and failed if the fault is in the file.
ExitCode status_of_bad(std::span<const std::string> files);

}  // namespace infold::cli
