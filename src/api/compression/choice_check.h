// SPDX-License-Identifier: Apache-2.0
//
// Whether all ranks have chosen the same compression for the same parameters. One small all_gather
// of hashes, one for each field, so that the error names the rank and the field.
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

// Blocks. Errors are a mismatch, or those of the call. All ranks pass the same fields.
Result<void> check_choices(Communicator& communicator, const std::vector<ChoiceField>& fields,
                           const AverageOptions& options);

}  // namespace infold
