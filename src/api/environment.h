// SPDX-License-Identifier: Apache-2.0
//
// Completes options from the variables that a launcher has put into the environment.
#pragma once

#include <infold/join_options.h>
#include <infold/result.h>

namespace infold::api {

// Returns the options with every gap filled. An error names what is missing or out of range.
Result<JoinOptions> complete_from_environment(JoinOptions options);

}  // namespace infold::api
