// SPDX-License-Identifier: Apache-2.0
//
// Reads the system's clocks. Drivers hand the monotonic time to state machines. Any thread may
// call.
#pragma once

#include <cstdint>

#include "base/instant.h"

namespace infold::io {

base::Instant monotonic_now();
// The time since 1970 minus monotonic_now(). Adding it to instants makes those of several hosts
// comparable, as closely as the hosts' clocks agree.
base::Duration wall_clock_offset();
// The wall clock.
std::int64_t seconds_since_1970();
// Sleeps for `duration`, even if packets arrive meanwhile.
void rest(base::Duration duration);

}  // namespace infold::io
