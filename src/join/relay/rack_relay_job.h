// SPDX-License-Identifier: Apache-2.0
//
// A relay's records of jobs, ranks and promises. Internal to rack_relay*.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "join/job_terms.h"
#include "join/registry/at_plane.h"
#include "join/relay/rack_relay.h"

namespace infold::join {

// Slots that ranks have asked the parent for and that the parent has not granted yet.
struct RackRelay::Promise {
  Slots slots;
  std::uint32_t counted = 0;
  std::uint32_t ranks = 0;
};

struct RackRelay::Job {
  Job(std::string job_name, JobTerms at_parent)
      : name(std::move(job_name)), up(std::move(at_parent)) {}

  const std::string name;
  const JobTerms up;        // the terms at the parent
  JobTerms terms;           // the terms for our ranks
  std::uint32_t ranks = 0;  // ranks of this rack that have not left
  std::uint32_t slots_held = 0;
  bool is_looked_up = false;        // this switch has tried to reach the parent's sites
  std::optional<Refusal> obstacle;  // why this switch cannot take the job
  bool has_begun = false;           // the parent has sent Go to some rank
  bool began = false;               // our plane has the job, or the job does not need it
  AtPlane at_plane = AtPlane::no;
  std::optional<core::Abort> end;  // the end as the plane hears it; empty: the job has not ended
  bool is_replaced = false;        // a later job with this number has its place at the plane
  bool is_dropped = false;

  std::uint32_t slots() const { return terms.small_slots + std::uint32_t{terms.bulk_slots}; }
};

struct RackRelay::Rank {
  Hello hello;
  std::shared_ptr<RankListener> listener;
  bool is_opening = false;         // a link is being opened
  std::shared_ptr<RankLink> link;  // null: not opened yet, or cut
  std::shared_ptr<Job> job;        // null: the parent has not sent the terms
  bool has_promise = false;
  bool uses_token = false;  // it counts for its token
  std::optional<ReadyReport> ready_report;
  bool may_go = false;   // the parent has said Go
  bool went = false;     // its listener has heard that all are ready
  bool is_told = false;  // its listener has heard of the end
  std::optional<Parting> leaves;
};

}  // namespace infold::join
