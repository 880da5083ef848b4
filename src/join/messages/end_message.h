// SPDX-License-Identifier: Apache-2.0
//
// The end of a job as messages: in the Leave of one rank, and in the Ended of the others.
#pragma once

#include <optional>

#include "join/registrar.h"
#include "proto/infold/v1/control.pb.h"

namespace infold::join {

v1::Leave leave_of(const std::optional<core::Abort>& abort);
std::optional<core::Abort> abort_of(const v1::Leave& leave);
v1::Ended ended_of(const JobEnd& end);
JobEnd end_of(const v1::Ended& ended);

}  // namespace infold::join
