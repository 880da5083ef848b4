// SPDX-License-Identifier: Apache-2.0
//
// Tells poll() and epoll_wait() how long to wait. Any thread may call.
#pragma once

#include "base/instant.h"

namespace infold::io {

// Returns the milliseconds from now until `at`, rounded up, so that a wait does not end before it.
// Returns 0 if `at` has passed, and 25 days if it is further away.
int milliseconds_until(base::Instant at);

}  // namespace infold::io
