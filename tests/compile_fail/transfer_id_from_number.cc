// SPDX-License-Identifier: Apache-2.0
//
// Transfers are named by an id of their own type; a plain number does not become one.
// expect: (cannot convert|invalid conversion)

#include "core/worker/worker.h"

infold::core::TransferRequest after_the_third() {
  infold::core::TransferRequest request;
#ifdef INFOLD_EXPECT_FAIL
  request.after = 3;
#else
  request.after = infold::core::TransferId{3};
#endif
  return request;
}
