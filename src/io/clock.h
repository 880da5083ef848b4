// SPDX-License-Identifier: Apache-2.0
//
// The one clock: nanoseconds that never go back, for drivers to hand to state machines.
// Any thread may read it.
#pragma once

#include "base/instant.h"

namespace infold::io {

base::Instant monotonic_now();
// Sleeps that long, whatever arrives.
void rest(base::Duration duration);

}  // namespace infold::io
