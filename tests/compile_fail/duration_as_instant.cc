// SPDX-License-Identifier: Apache-2.0
//
// A deadline must be a point in time, and a span of time is not one.
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
