// SPDX-License-Identifier: Apache-2.0
//
// Handles the switch's answers to a relay's ranks, and makes the resulting calls to the plane.
#include <set>
#include <string>
#include <utility>

#include "join/refusals.h"
#include "study/emulate/at_switch/switch_relay.h"
#include "study/emulate/at_switch/switch_relay_job.h"

namespace infold::emulate {

using join::JobTerms;
using join::Parting;
using join::Refusal;

JobTerms SwitchRelay::terms_for_ranks(const JobTerms& terms) const {
  JobTerms own = terms;
  own.wants_transfers = true;
  const std::string address = options_.real_switch.text();
  const std::string host = address.substr(0, address.rfind(':'));
  for (join::SiteAddress& site : own.sites) {
    if (site.address.starts_with(':')) site.address = host + site.address;
    if (site.weight == 0) site.weight = options_.switch_weight;
  }
  return own;
}

void SwitchRelay::hear_terms(std::uint64_t entry, const JobTerms& terms) {
  const auto found = ranks_.find(entry);
  if (found == ranks_.end() || found->second.leaves || found->second.has_terms) return;
  Rank& rank = found->second;
  rank.has_terms = true;
  JobTerms own = terms_for_ranks(terms);
  if (!rank.job->terms) rank.job->terms = own;
  if (rank.job->emulated.contains(entry)) return say_ready(entry, rank);
  agenda_.add([listener = rank.listener, own = std::move(own)] { listener->all_here(own); });
}

void SwitchRelay::hear_go(std::uint64_t entry, const std::vector<join::HostGroup>& groups) {
  const auto found = ranks_.find(entry);
  if (found == ranks_.end() || !found->second.has_terms || found->second.leaves) return;
  Rank& rank = found->second;
  rank.may_go = true;
  const std::shared_ptr<Job> job = rank.job;
  if (!std::exchange(job->has_begun, true)) {
    job->terms->groups = groups;
    agenda_.add([this, job] { start(job); });
  }
  if (!rank.listener) return;
  agenda_.add([this, job, listener = rank.listener, groups] {
    {
      const base::MutexLock lock(mutex_);
      if (!job->at_plane) return;
    }
    listener->all_ready(groups);
  });
}

join::Answer<void> SwitchRelay::start_at_plane(const Job& job, const JobTerms& terms) {
  if (job.has_rank_0) return plane_.start_job(terms);
  return tl::unexpected(
      join::pointing_at(0, join::refusal(join::sentences::kRank0AtSwitch, job.name)));
}

// Runs before any rank of the job learns that all are ready.
void SwitchRelay::start(const std::shared_ptr<Job>& job) {
  JobTerms terms;
  {
    const base::MutexLock lock(mutex_);
    if (job->is_dissolved || stopping_) return;
    terms = *job->terms;
  }
  const join::Answer<void> started = start_at_plane(*job, terms);
  const base::MutexLock lock(mutex_);
  if (!started) {
    refuse_real(job, started.error());
  } else if (job->is_dissolved) {
    agenda_.add([this, number = terms.job] { plane_.forget_job(number); });
  } else {
    job->at_plane = true;
  }
}

// Without its emulated ranks the job cannot exist, so all its real ranks are refused.
void SwitchRelay::refuse_real(const std::shared_ptr<Job>& job, const Refusal& refusal) {
  const std::set<std::uint64_t> real = std::exchange(job->real, {});
  for (const std::uint64_t entry : real) {
    Rank& rank = ranks_.at(entry);
    agenda_.add([listener = std::exchange(rank.listener, nullptr), refusal] {
      listener->refused(refusal);
    });
    Parting parting = Parting::in_order;
    parting.why = refusal;
    // A rank that has received Go accepts only the end of the job.
    const auto failed = static_cast<std::uint16_t>(options_.real);
    if (job->has_begun) {
      parting.abort = core::Abort{core::AbortReason::cancelled, failed, failed, {}, {}};
    }
    leave_link(entry, rank, parting);
  }
  dissolve(job);
}

void SwitchRelay::hear_refusal(std::uint64_t entry, const Refusal& refusal) {
  const auto found = ranks_.find(entry);
  if (found == ranks_.end()) return;
  Rank& rank = found->second;
  const std::shared_ptr<Job> job = rank.job;
  cut(rank);  // this was the link's last call
  if (rank.leaves) return let_go(entry);
  if (!job->real.contains(entry)) {
    // If other ranks already run, the switch tells them that this rank is lost.
    const bool is_alone = !job->has_begun;
    let_go(entry);
    if (is_alone) refuse_real(job, refusal);
    return;
  }
  agenda_.add(
      [listener = std::exchange(rank.listener, nullptr), refusal] { listener->refused(refusal); });
  let_go(entry);
}

// An end without a reason means that the switch has gone.
void SwitchRelay::hear_end(std::uint64_t entry, const join::JobEnd& end) {
  const auto found = ranks_.find(entry);
  if (found == ranks_.end()) return;
  Rank& rank = found->second;
  rank.job->is_over = true;
  if (rank.leaves || !rank.listener) return;
  join::JobEnd told = end;
  const bool says_who = end.lost_rank || !end.lost_switch.empty() || end.abort;
  if (!says_who) told.lost_switch = options_.real_switch.text();
  agenda_.add([this, job = rank.job, listener = rank.listener, told] {
    {
      const base::MutexLock lock(mutex_);
      if (!job->at_plane) return;  // the job was refused, or all real ranks have left
    }
    listener->ended(told);
  });
}

void SwitchRelay::hear_dismissal(std::uint64_t entry) {
  if (ranks_.contains(entry)) let_go(entry);
}

}  // namespace infold::emulate
