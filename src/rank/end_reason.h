// SPDX-License-Identifier: Apache-2.0
//
// Why a rank's job has ended, as the errors of its calls report it. The first call that meets the
// end reports the reason itself; later calls name the call that has reported it. Any thread may
// call any method.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infold/result.h>

#include "base/mutex.h"
#include "core/worker/worker.h"
#include "rank/call.h"

namespace infold::rank {

class EndReason {
 public:
  EndReason(std::uint16_t rank, const std::vector<std::string>& site_names)
      : rank_(rank), site_names_(site_names) {}

  // The address of a switch that is gone, if it is not one of the sites. Empty if there is none.
  void set_lost_switch(const std::string& address);

  // The error of a call that failed with the job at that time. `rest` is appended to the reason.
  Error of_failed(const Call& call, const std::optional<core::Failure>& failure, base::Instant now,
                  const std::string& rest = {});
  // The error of a call that this rank could not make, which ends the job; `error` says why.
  Error of_refused(const Call& call, Error error);
  // The error of a call that began after the job's end.
  Error of_late(const Call& call, const std::optional<core::Failure>& failure);
  // The error of the job itself.
  Error of_job(const core::Failure& failure);

 private:
  FailedCall failed_call(const Call& call, base::Instant now) const REQUIRES(mutex_);
  Error finish(Error error) REQUIRES(mutex_);

  const std::uint16_t rank_;
  const std::vector<std::string>& site_names_;
  base::Mutex mutex_;
  std::string reason_ GUARDED_BY(mutex_);       // the first message; empty while the job lives
  std::string lost_switch_ GUARDED_BY(mutex_);  // its address
};

}  // namespace infold::rank
