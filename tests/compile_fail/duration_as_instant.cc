// SPDX-License-Identifier: Apache-2.0
//
// A span of time is not a point in time: a deadline must be a point in time.
// expect: (cannot convert|no match for .operator=)

#include "core/worker/worker.h"

infold::core::TransferRequest within_a_second(infold::base::Instant now) {
  infold::core::TransferRequest request;
#ifdef INFOLD_EXPECT_FAIL
  static_cast<void>(now);
  request.deadline = infold::base::seconds(1);
#else
  request.deadline = now + infold::base::seconds(1);
#endif
  return request;
}
