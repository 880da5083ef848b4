// SPDX-License-Identifier: Apache-2.0
//
// Processor costs as a small file, so that a person can measure them on a node and plan on another
// machine. One cost a line, in nanoseconds; # begins a comment; the order is free.
//
//   rank_packet_ns = 750
//   rank_element_ns = 0.82
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "predict/processors.h"

namespace infold::predict {

// `origin` says in a comment where the costs are from. Requires: one line.
std::string write_processors(const Processors& processors, std::string_view origin);

// The error names the line, or the cost that is missing.
tl::expected<Processors, std::string> read_processors(std::string_view text);

}  // namespace infold::predict
