// SPDX-License-Identifier: Apache-2.0
//
// Joins the ranks' times of a call, beside the sums of the next call: begun before them, and waited
// for after them, so no rank waits longer.
#pragma once

#include <optional>
#include <span>
#include <stop_token>

#include <infold/communicator.h>

#include "api/compression/wait_or_stop.h"
#include "codec/control/call_times.h"

namespace infold {

class TimesJoin {
 public:
  TimesJoin(Communicator& communicator, const std::optional<codec::CallTimes>& own,
            CallOptions options)
      : maxima_(codec::to_maxima(own)) {
    options.reduction = Reduction::max;
    handle_ = communicator.all_reduce(std::span<float>(maxima_), options);
  }
  TimesJoin(const TimesJoin&) = delete;
  TimesJoin& operator=(const TimesJoin&) = delete;
  ~TimesJoin() = default;

  // Blocks; once. The times that all ranks agree on, or none.
  Result<std::optional<codec::CallTimes>> wait(const std::stop_token& stop) {
    if (auto done = wait_or_stop(std::move(handle_), stop); !done) {
      return tl::unexpected(done.error());
    }
    return codec::from_maxima(maxima_);
  }

 private:
  codec::TimesMaxima maxima_;
  Handle handle_;  // waits for the end of its call before maxima_ goes
};

}  // namespace infold
