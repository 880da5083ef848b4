// SPDX-License-Identifier: Apache-2.0
//
// Two points in time have a distance but no sum.
// expect: no match for .operator\+

#include "base/instant.h"

using infold::base::Duration;
using infold::base::Instant;

#ifdef INFOLD_EXPECT_FAIL
Instant deadline(Instant now, Instant timeout) { return now + timeout; }
#else
Instant deadline(Instant now, Duration timeout) { return now + timeout; }
#endif
