// SPDX-License-Identifier: Apache-2.0
//
// Why a rank's job has ended, as the errors of its calls tell it: the first call that meets the end
// is told the reason itself, later ones which call was told. Any thread may call anything.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <infold/result.h>

#include "core/worker/worker.h"
#include "rank/calls/call.h"

namespace infold::rank {

class EndReason {
 public:
  EndReason(std::uint16_t rank, const std::vector<std::string>& site_names)
      : rank_(rank), site_names_(site_names) {}

  // The address of a switch that is gone, where that is not one of the sites; empty: none is.
  void set_lost_switch(const std::string& address);

  // Of a call that has failed with the job at that time. `rest` is added to the reason.
  Error of_failed(const Call& call, const std::optional<core::Failure>& failure, base::Instant now,
                  const std::string& rest = {});
  // Of a call that this rank could not make, which ends the job; `error` says why.
  Error of_refused(const Call& call, Error error);
  // Of a call that came after the end.
  Error of_late(const Call& call, const std::optional<core::Failure>& failure);
  // Of the job.
  Error of_job(const core::Failure& failure);

 private:
  FailedCall failed_call(const Call& call, base::Instant now) const;
  Error finish(Error error);

  const std::uint16_t rank_;
  const std::vector<std::string>& site_names_;
  std::mutex mutex_;
  std::string reason_;       // the first message; empty while the job lives
  std::string lost_switch_;  // its address
};

}  // namespace infold::rank
