// SPDX-License-Identifier: Apache-2.0
//
// Prints a report of a reproduction: a table with notes for people, an object for each figure and
// target for programs.
#pragma once

#include "cli/line/output.h"
#include "reproduce/catalogue.h"

namespace infold::cli {

void print_report(Output& output, const reproduce::Reproduction& reproduction,
                  const reproduce::Report& report);

}  // namespace infold::cli
