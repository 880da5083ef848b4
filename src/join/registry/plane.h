// SPDX-License-Identifier: Apache-2.0
//
// The aggregators at a host, as the join server sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/packet/packet.h"
#include "join/registrar.h"

namespace infold::join {

// A registry has no plane if ranks sum for each other, unless it is an emulator's registry.
class Plane {
 public:
  virtual ~Plane() = default;
  // Returns the plane's sites, whose records are equal. If there are none, each rank brings a site.
  virtual std::vector<SiteAddress> sites() const = 0;
  virtual std::uint32_t slots_total() const = 0;  // the slots of each site
  virtual std::uint32_t slots_of_job_max() const { return slots_total(); }
  virtual std::uint32_t jobs_max() const { return 65'535; }
  virtual std::uint32_t datagram_bytes_max() const = 0;
  // Whether a worker may speak for several ranks of its host.
  virtual bool takes_host_groups() const { return true; }
  // Starts a job. All ranks hear of a refusal, or of the text of an exception. The number of a job
  // that still runs is refused. May take long.
  virtual Answer<void> start_job(const JobTerms& terms) = 0;
  // Ends a job for all workers. Returns the end that the job's aggregators keep, which is an
  // earlier one if they have ended the job before, or nothing if they do not say. May take
  // long.
  virtual std::optional<core::Abort> end_job(std::uint16_t job, const core::Abort& abort) = 0;
  virtual void forget_job(std::uint16_t job) = 0;
  // True for an emulator: rank 0 reports its transfers, and note_call() gets them in their order,
  // from any thread.
  virtual bool wants_transfers() const { return false; }
  virtual void note_call(std::uint16_t /*job*/, const CallNote& /*note*/) {}
};

// Whether a rank's calls failed for this reason, so that the loss of a rank afterwards only follows
// from it.
inline bool is_cause(const core::Abort& abort) {
  using core::AbortReason;
  return abort.reason == AbortReason::mismatch || abort.reason == AbortReason::deadline ||
         abort.reason == AbortReason::cancelled;
}

// Returns the ABORT that a plane sends to the workers of a job with this end.
inline core::Abort abort_for_plane(const JobEnd& end) {
  if (end.abort) return *end.abort;
  const auto rank = static_cast<std::uint16_t>(end.lost_rank.value_or(0));
  const auto reason = end.lost_rank ? core::AbortReason::lost : core::AbortReason::stopped;
  return {reason, rank, rank, {}, {}};
}

}  // namespace infold::join
