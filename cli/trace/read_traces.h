// SPDX-License-Identifier: Apache-2.0
//
// Reads the traces that a command line names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "trace/trace_check.h"

namespace infold::cli {

// All traces, each without a fault of its own. The error is of the first bad file.
tl::expected<std::vector<trace::NamedTrace>, std::string> read_traces(
    std::span<const std::string> files);

}  // namespace infold::cli
