// SPDX-License-Identifier: Apache-2.0
//
// The clocks: nanoseconds that never go back, for drivers to hand to state machines.
// Any thread may read it.
#pragma once

#include "base/instant.h"

namespace infold::io {

base::Instant monotonic_now();
// The time of day, since 1970, less monotonic_now(): what makes instants of several hosts
// comparable, as well as their clocks are set.
base::Duration wall_clock_offset();
// Sleeps that long, whatever arrives.
void rest(base::Duration duration);

}  // namespace infold::io
