// SPDX-License-Identifier: Apache-2.0
//
// What a benchmark says of the machine that it ran on.
#pragma once

#include <string>

namespace infold::cli {

// "AMD EPYC, 2 cores, Linux 6.18"
std::string this_machine();
// The average number of running tasks in the last minute; 0 if unknown.
double load();

}  // namespace infold::cli
