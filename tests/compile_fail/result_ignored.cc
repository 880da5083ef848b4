// SPDX-License-Identifier: Apache-2.0
//
// A caller must check whether its call was taken, because a refused call never ends.
// expect: (nodiscard|unused-result)

#include "core/worker/worker.h"

void submit_twice(infold::core::Worker& worker, const infold::core::TransferRequest& request) {
#ifdef INFOLD_EXPECT_FAIL
  worker.submit({}, request);
#else
  if (!worker.submit({}, request)) return;
#endif
}
