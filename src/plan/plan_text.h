// SPDX-License-Identifier: Apache-2.0
//
// Writes a plan as text, for people and programs, and reads it again. The first line has the
// numbers that all parties share. Each tree has a line, followed by one line for each of its
// aggregators, the root first.
//
//   plan world=4 datagram_bytes_max=1472 small_slots=64 bulk_slots=448 formats=all
//   tree weight=1 job=0 epoch=0
//   aggregator place=in_path sparse=yes formats=all children=0-1:1,2,3
//   aggregator place=host rank=0 sparse=yes formats=all children=0,1
//
// An aggregator may have `big_endian=yes` and `reductions=sum,average,max`, as P4 chips do. A child
// is either a rank, or a range of ranks with the number of the aggregator that sums for them. A
// field that is left out has its default from plan.h. # begins a comment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "plan/plan.h"

namespace infold::plan {

std::string write_plan(const Plan& plan);

// The error names the line, if it is the fault of one. find_fault() finds nothing wrong with a plan
// that is returned.
tl::expected<Plan, std::string> read_plan(std::string_view text);

// Returns why workers and aggregators cannot be made from this plan, or nothing. Each rank must be
// in each tree exactly once, and numbers must be within the protocol's ranges.
std::optional<std::string> find_fault(const Plan& plan);

}  // namespace infold::plan
