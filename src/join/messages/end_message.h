// SPDX-License-Identifier: Apache-2.0
//
// Converts the end of a job to messages and back: one rank's Leave, and the Ended of the others.
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
