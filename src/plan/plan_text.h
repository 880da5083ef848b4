// SPDX-License-Identifier: Apache-2.0
//
// A plan as text, for people and programs. The first line has the numbers that all parties share.
// Each tree has a line, and below it a line for each of its aggregators, the root first.
//
//   plan world=4 datagram_bytes_max=1472 small_slots=64 bulk_slots=448 formats=all
//   tree weight=1 job=0 epoch=0
//   aggregator place=in_path sparse=yes formats=all children=0-1:1,2,3
//   aggregator place=host rank=0 sparse=yes formats=all children=0,1
//
// An aggregator may have `big_endian=yes` and `reductions=sum,average,max`, as P4 chips do. A child
// is a rank, or ranks and the number of the aggregator that sums for them. A field that is left out
// has the default of struct Plan. # begins a comment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "plan/plan.h"

namespace infold::plan {

std::string write_plan(const Plan& plan);

// The error names the line. A plan that is returned has no fault.
tl::expected<Plan, std::string> read_plan(std::string_view text);

// Returns why machines cannot be made from this plan, or nothing. Each rank must be once in each
// tree, and numbers must be in the protocol's ranges.
std::optional<std::string> find_fault(const Plan& plan);

}  // namespace infold::plan
