// SPDX-License-Identifier: Apache-2.0
//
// Why a call cannot be made at the sites of a job, or no call can be sparse there. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <infold/result.h>

#include "codec/format_choice.h"
#include "core/worker/worker.h"
#include "rank/calls/request.h"

namespace infold::rank {

// Why a site does not take a call's reduction. Without the call's name.
std::optional<Error> refuse_reduction(Reduction reduction, const core::WorkerOptions& worker,
                                      std::span<const std::string> site_names);

// Why the ranks cannot join their sets of blocks (R-076), as in "the site at 10.0.0.1:7700 does not
// sum i32". Empty: they can. The same at all ranks but for the name.
std::string find_sparse_obstacle(const core::WorkerOptions& worker,
                                 std::span<const std::string> site_names);

// Why a sparse request is refused, where that is the job's obstacle. Without the call's name.
std::optional<Error> refuse_sparse(const CallRequest& request, const codec::FormatChoice& format,
                                   const std::string& obstacle);

}  // namespace infold::rank
