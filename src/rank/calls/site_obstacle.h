// SPDX-License-Identifier: Apache-2.0
//
// Says why the sites of a job cannot make a call, or any sparse call. Pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <infold/result.h>

#include "core/worker/worker.h"
#include "encoding/format_choice.h"
#include "rank/calls/request.h"

namespace infold::rank {

// Why some site cannot do a call's reduction. The message omits the call's name.
std::optional<Error> refuse_reduction(Reduction reduction, const core::WorkerOptions& worker,
                                      std::span<const std::string> site_names);

// Why the ranks cannot join their sets of blocks (R-076), as in "the site at 10.0.0.1:7700 does not
// sum i32". Empty if they can. All ranks get the same answer, except for the site's name.
std::string find_sparse_obstacle(const core::WorkerOptions& worker,
                                 std::span<const std::string> site_names);

// Why a sparse request is refused, if the job has an obstacle. The message omits the call's name.
std::optional<Error> refuse_sparse(const CallRequest& request, const encoding::FormatChoice& format,
                                   const std::string& obstacle);

}  // namespace infold::rank
