// SPDX-License-Identifier: Apache-2.0
//
// Joins the ranks' times of a call during the sums of the next call. It begins before the sums and
// is waited for after them, so that no rank waits longer.
#pragma once

#include <optional>
#include <span>
#include <stop_token>
#include <utility>

#include <infold/communicator.h>

#include "api/compression/wait_or_stop.h"
#include "compress/steering/call_times.h"

namespace infold {

class TimesJoin {
 public:
  TimesJoin(Communicator& communicator, const std::optional<compress::CallTimes>& own,
            CallOptions options)
      : maxima_(compress::to_maxima(own)) {
    options.reduction = Reduction::max;
    handle_ = communicator.all_reduce(std::span<float>(maxima_), options);
  }
  TimesJoin(const TimesJoin&) = delete;
  TimesJoin& operator=(const TimesJoin&) = delete;
  ~TimesJoin() = default;

  // Blocks; call it once. Returns the times that all ranks agree on, or none.
  Result<std::optional<compress::CallTimes>> wait(const std::stop_token& stop) {
    if (auto done = wait_or_stop(std::move(handle_), stop); !done) {
      return tl::unexpected(done.error());
    }
    return compress::from_maxima(maxima_);
  }

 private:
  compress::TimesMaxima maxima_;
  Handle handle_;  // waits for the end of its call before maxima_ goes
};

}  // namespace infold
