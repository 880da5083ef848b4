// SPDX-License-Identifier: Apache-2.0
//
// How a benchmark describes the machine that it ran on.
#pragma once

#include <string>

namespace infold::cli {

// Returns, for instance, "AMD EPYC, 2 cores, Linux 6.18".
std::string this_machine();
// Returns the average number of running tasks in the last minute, or 0 if it is unknown.
double load();

}  // namespace infold::cli
