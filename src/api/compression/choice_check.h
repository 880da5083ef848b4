// SPDX-License-Identifier: Apache-2.0
//
// Checks that all ranks have chosen the same compression for the same parameters. One small
// all_gather exchanges a hash of each field, so that the error can name the rank and the field.
#pragma once

#include <string>
#include <vector>

#include <infold/communicator.h>
#include <infold/compression.h>

namespace infold {

struct ChoiceField {
  const char* name;  // static text
  std::string text;
};

// Blocks. Returns a mismatch, or the error of the all_gather. All ranks must pass the same fields.
Result<void> check_choices(Communicator& communicator, const std::vector<ChoiceField>& fields,
                           const AverageOptions& options);

}  // namespace infold
