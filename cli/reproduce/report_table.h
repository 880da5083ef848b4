// SPDX-License-Identifier: Apache-2.0
//
// Prints a report of a reproduction: for people a table with notes, for programs an object for each
// figure and target.
#pragma once

#include "cli/line/output.h"
#include "study/reproduce/catalogue.h"

namespace infold::cli {

void print_report(Output& output, const reproduce::Reproduction& reproduction,
                  const reproduce::Report& report);

}  // namespace infold::cli
