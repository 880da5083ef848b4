// SPDX-License-Identifier: Apache-2.0
//
// The system's clocks. Drivers hand the monotonic time to state machines. Any thread.
#pragma once

#include "base/instant.h"

namespace infold::io {

base::Instant monotonic_now();
// The time since 1970 minus monotonic_now(). With it, instants of several hosts can be compared as
// exactly as their clocks agree.
base::Duration wall_clock_offset();
// Sleeps for that long, even if packets arrive.
void rest(base::Duration duration);

}  // namespace infold::io
