// SPDX-License-Identifier: Apache-2.0
//
// Keeps what a checkpoint has of each parameter until the parameter is made.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <infold/compression.h>
#include <infold/result.h>

#include "api/compression/parameter.h"

namespace infold {

using Entries = std::vector<CompressionState::Entry>;
using LoadedState = std::map<std::string, Entries, std::less<>>;

// Sorts the entries by parameter. Refuses a count of steps that is not a number.
Result<LoadedState> sort_entries(const Entries& entries);
// Gives a new parameter what a checkpoint has of it. Refuses entries that are missing or of another
// size.
Result<void> fill(const std::string& name, Parameter& parameter, const Entries& entries);

}  // namespace infold
