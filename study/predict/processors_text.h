// SPDX-License-Identifier: Apache-2.0
//
// Processor costs as a small file, so that a person can measure them on a node and plan on another
// machine. Each line has one cost, in nanoseconds. # begins a comment, and the order is free.
//
//   rank_packet_ns = 750
//   rank_element_ns = 0.82
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "study/predict/processors.h"

namespace infold::predict {

// `origin` becomes a comment that says where the costs come from. Requires: one line.
std::string write_processors(const Processors& processors, std::string_view origin);

// An error names the line, or the cost that is missing.
tl::expected<Processors, std::string> read_processors(std::string_view text);

}  // namespace infold::predict
