// SPDX-License-Identifier: Apache-2.0
//
// A bare number has no unit, so it is neither a point in time nor a span of time.
// expect: no match for .operator\+

#include "base/instant.h"

using infold::base::Instant;

Instant deadline(Instant now) {
#ifdef INFOLD_EXPECT_FAIL
  return now + 1'000'000;
#else
  return now + infold::base::milliseconds(1);
#endif
}
