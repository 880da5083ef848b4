// SPDX-License-Identifier: Apache-2.0
//
// Waits for a call that another thread may ask to stop.
#pragma once

#include <stop_token>

#include <infold/handle.h>

namespace infold {

// Blocks until the call has ended. A request to stop cancels the call, which ends the job.
inline Result<void> wait_or_stop(Handle handle, const std::stop_token& stop) {
  const std::stop_callback cancel(stop, [&handle] { handle.cancel(); });
  if (auto done = handle.wait(); !done) return tl::unexpected(done.error());
  return {};
}

}  // namespace infold
