// SPDX-License-Identifier: Apache-2.0
//
// What a launcher has put into the environment.
#pragma once

#include <infold/join_options.h>
#include <infold/result.h>

namespace infold::api {

// The options with every gap filled; fails naming what nobody has said, or what is out of range.
Result<JoinOptions> complete_from_environment(JoinOptions options);

}  // namespace infold::api
