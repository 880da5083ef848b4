// SPDX-License-Identifier: Apache-2.0
//
// A worker is copied only on purpose, by construction. Assigning another worker to it would drop
// the calls that it has in flight.
// expect: use of deleted function

#include "core/worker/worker.h"

void replace(infold::core::Worker& worker, const infold::core::Worker& other) {
#ifdef INFOLD_EXPECT_FAIL
  worker = other;
#else
  worker = infold::core::Worker(other);
#endif
}
