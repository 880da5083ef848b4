// SPDX-License-Identifier: Apache-2.0
//
// Handles the parent's answers to a relay's ranks, and makes the calls of this switch's plane that
// follow from them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "join/job_plan.h"
#include "join/job_use.h"
#include "join/refusals.h"
#include "join/registry/at_plane.h"
#include "join/relay/rack_relay.h"
#include "join/relay/rack_relay_job.h"

namespace infold::join {

using namespace sentences;

void RackRelay::hear_terms(std::uint64_t entry, const JobTerms& terms) {
  const auto found = ranks_.find(entry);
  if (found == ranks_.end() || found->second.leaves || found->second.job) return;
  Rank& rank = found->second;
  rank.job = find_or_make(rank.hello, terms);
  const bool is_first = rank.job->ranks++ == 0 && !rank.job->is_looked_up;
  if (is_first) {
    take_slots(*rank.job);
    look_ups_.add([this, job = rank.job] { look_up(job); });
  }
  keep_promise(rank);
  agenda_.add([listener = rank.listener, own = rank.job->terms] { listener->all_here(own); });
}

std::shared_ptr<RackRelay::Job> RackRelay::find_or_make(const Hello& hello, const JobTerms& terms) {
  std::shared_ptr<Job>& job = jobs_[{terms.job, terms.epoch}];
  if (job) return job;
  job = std::make_shared<Job>(hello.job, terms);
  job->terms = own_terms(terms, hello.rank);
  const core::SiteRecord can = plane_.sites().front().record;
  if (terms.elements_max > can.elements_max ||
      terms.datagram_bytes_max > plane_.datagram_bytes_max()) {
    job->obstacle = refusal(kLongerPackets, options_.parent.text(), options_.address);
  } else if (const core::FormatSet lacking = terms.formats - can.formats; !lacking.is_empty()) {
    job->obstacle =
        refusal(kOtherFormats, options_.parent.text(), names_of(lacking), options_.address);
  }
  // Ranks get valid terms even so, and hear of the obstacle later.
  job->terms.elements_max = std::min(terms.elements_max, can.elements_max);
  job->terms.formats = can.formats & (job->obstacle ? core::FormatSet::all() : terms.formats);
  return job;
}

// Replaces the parent's sites by ours. A job that is all in this rack has its root here.
JobTerms RackRelay::own_terms(const JobTerms& terms, std::uint32_t rank) const {
  JobTerms own = terms;
  own.sites = plane_.sites();
  const auto is_at_rank = [](const SiteAddress& site) { return site.at_rank; };
  const auto first_of_ranks = std::find_if(terms.sites.begin(), terms.sites.end(), is_at_rank);
  const core::RankRange* const rack = core::find_range(terms.racks, rank);
  if (rack != nullptr && is_one_rack(terms.racks, terms.world)) {
    own.racks.clear();
  } else if (rack != nullptr) {
    const auto shared = static_cast<std::size_t>(first_of_ranks - terms.sites.begin());
    own.sites.resize(std::min(own.sites.size(), shared));
    own.parent = options_.parent.text();
    own.below.emplace();
    own.below->rack = *rack;
    const std::string host = own.parent.substr(0, own.parent.rfind(':'));
    for (std::size_t site = 0; site < own.sites.size(); ++site) {
      const std::string& address = terms.sites[site].address;
      own.below->sites.push_back(address.starts_with(':') ? host + address : address);
    }
  }
  own.sites.insert(own.sites.end(), first_of_ranks, terms.sites.end());
  return own;
}

// Other ranks of this rack may still wait for the parent. The slots that are promised to them are
// the slots that the job takes here.
void RackRelay::take_slots(Job& job) {
  const std::uint32_t total = plane_.slots_total();
  const auto promise = promises_.find(job.name);
  const std::uint32_t own = promise == promises_.end() ? 0 : promise->second.counted;
  const std::uint32_t taken = slots_used_ + slots_promised_ - own;
  if (taken + job.slots() > total) {
    job.obstacle = no_slots("the switch at " + options_.address, total - std::min(total, taken),
                            total, job.name, job.slots());
    return;
  }
  slots_used_ += job.slots();
  job.slots_held = job.slots();
  // Jobs with the same token may have asked for these slots at the same time.
  if (!count_token_slots(job)) job.obstacle = refusal(kSlotsOfTokenUsed, job.slots(), job.name);
}

void RackRelay::give_back_slots(Job& job) {
  slots_used_ -= job.slots_held;
  job.slots_held = 0;
  // Once its ranks have left, the job counts for no token, and another one may have its name.
  if (job.ranks > 0) count_token_slots(job);
}

// Returns false, and counts nothing, if the tokens of the job's ranks have too few slots left.
bool RackRelay::count_token_slots(const Job& job) {
  const auto own = tokens_.find({job.name, job.up.world});
  if (own == tokens_.end()) return true;
  if (token_use_.slots_free(own->second).value_or(job.slots_held) < job.slots_held) return false;
  token_use_.set_slots(own->second, job.slots_held);
  return true;
}

void RackRelay::look_up(const std::shared_ptr<Job>& job) {
  {
    const base::MutexLock lock(mutex_);
    if (stopping_ || job->is_dropped) return;
  }
  std::optional<Refusal> unreachable;
  if (job->up.racks.empty()) {
    unreachable = refusal(kNoRacks, options_.parent.text());
  } else if (job->terms.below && !is_one_host(job->up.groups, job->up.world)) {
    const Answer<void> reached = uplink_.reach(job->terms.below->sites, job->up.datagram_bytes_max);
    if (!reached) unreachable = reached.error();
  }
  const base::MutexLock lock(mutex_);
  if (unreachable && !job->obstacle) job->obstacle = std::move(unreachable);
  job->is_looked_up = true;
  for (auto& [entry, rank] : ranks_) {
    if (rank.job == job && rank.ready_report) say_ready(entry, rank);
  }
}

void RackRelay::hear_go(std::uint64_t entry, const std::vector<HostGroup>& groups) {
  const auto found = ranks_.find(entry);
  if (found == ranks_.end() || !found->second.job || found->second.leaves) return;
  Rank& rank = found->second;
  const std::shared_ptr<Job> job = rank.job;
  rank.may_go = true;
  if (!std::exchange(job->has_begun, true)) {
    job->terms.groups = groups;
    begin(job);
  } else if (job->began) {
    go(rank);
  } else if (job->obstacle) {
    refuse(entry, *job->obstacle);
  }
}

void RackRelay::begin(const std::shared_ptr<Job>& job) {
  if (is_one_host(job->terms.groups, job->terms.world)) {
    give_back_slots(*job);
    job->began = true;
    for (auto& [entry, rank] : ranks_) {
      if (rank.job == job && rank.may_go) go(rank);
    }
    return;
  }
  job->at_plane = AtPlane::starting;
  plane_calls_.add([this, job] { start_at_plane(job); });
}

// A job with the same number, which the parent had before it restarted, is over and makes room.
// Returns false if the plane still had that job.
bool RackRelay::make_room(Job& job) {
  bool is_free = true;
  for (const auto& [key, other] : jobs_) {
    if (other.get() == &job || key.first != job.terms.job || other->at_plane != AtPlane::yes) {
      continue;
    }
    if (other->end) {
      other->at_plane = AtPlane::no;
      other->is_replaced = true;
      is_free = false;
    } else {
      job.obstacle = refusal(kNumberGivenTwice, options_.parent.text(), key.first);
    }
  }
  return is_free;
}

// Calls the plane without the lock. Meanwhile ranks of this job may leave, the parent may end the
// job, and the relay may stop.
void RackRelay::start_at_plane(const std::shared_ptr<Job>& job) {
  bool is_free = true;
  std::optional<Refusal> obstacle;
  {
    const base::MutexLock lock(mutex_);
    if (job->is_dropped) {
      job->at_plane = AtPlane::no;
      give_back(job);
      return;
    }
    is_free = make_room(*job);
    obstacle = job->obstacle;
  }
  if (!is_free) plane_.forget_job(job->terms.job);
  const Answer<void> started =
      obstacle ? Answer<void>(tl::unexpected(*obstacle)) : start_job(plane_, job->terms);
  const base::MutexLock lock(mutex_);
  job->at_plane = started ? AtPlane::yes : AtPlane::no;
  job->began = started.has_value();
  if (!started) job->obstacle = started.error();
  if (job->is_dropped) {
    give_back(job);
    return;
  }
  if (started && job->end) tell_plane_end(job);
  std::vector<std::uint64_t> waiting;
  for (const auto& [entry, rank] : ranks_) {
    if (rank.job == job && rank.may_go && !rank.leaves) waiting.push_back(entry);
  }
  for (const std::uint64_t entry : waiting) {
    started ? go(ranks_.at(entry)) : refuse(entry, *job->obstacle);
  }
}

void RackRelay::go(Rank& rank) {
  if (rank.leaves || std::exchange(rank.went, true)) return;
  agenda_.add(
      [listener = rank.listener, groups = rank.job->terms.groups] { listener->all_ready(groups); });
}

void RackRelay::hear_refusal(std::uint64_t entry, const Refusal& refusal) {
  const auto found = ranks_.find(entry);
  if (found == ranks_.end()) return;
  cut(found->second);  // this was the link's last call
  if (found->second.leaves) {
    let_go(entry);
  } else {
    refuse(entry, refusal);
  }
}

// Makes the last call of the rank's listener. If the link's last call is still to come, the link
// leaves first.
void RackRelay::refuse(std::uint64_t entry, const Refusal& refusal) {
  Rank& rank = ranks_.at(entry);
  JoinEvent event;
  event.kind = JoinEvent::refused;
  event.job = rank.hello.job;
  event.rank = static_cast<int>(rank.hello.rank);
  event.address = rank.hello.address;
  event.reason = refusal.message;
  if (rank.listener) {
    agenda_.add([listener = std::exchange(rank.listener, nullptr), refusal,
                 event = std::move(event), tell = options_.on_event] {
      tell(event);
      listener->refused(refusal);
    });
  }
  if (rank.link && rank.may_go) {
    // To the parent, the rank is in the job. Only this relay can tell it that the rank is not.
    rank.leaves = Parting::lost;
    tell_link(entry, [](RankLink& link) { link.leave(Parting::lost); });
    return;
  }
  let_go(entry);
}

// Each link tells its own rank. An end without a reason means that the parent has gone.
void RackRelay::hear_end(std::uint64_t entry, const JobEnd& end) {
  const auto found = ranks_.find(entry);
  if (found == ranks_.end() || !found->second.job) return;
  Rank& rank = found->second;
  JobEnd told = end;
  const bool says_who = end.lost_rank || !end.lost_switch.empty() || end.abort;
  if (!says_who) told.lost_switch = options_.parent.text();
  end_at_plane(rank.job, end);
  if (rank.leaves || std::exchange(rank.is_told, true)) return;
  if (rank.went) {
    agenda_.add([listener = rank.listener, told] { listener->ended(told); });
    return;
  }
  const std::string lost = told.lost_rank ? fmt::format("rank {}", *told.lost_rank)
                                          : "the switch at " + told.lost_switch;
  const Refusal why = refusal(kLostWhileJoining, lost);
  refuse(entry, told.lost_rank ? pointing_at(*told.lost_rank, why) : why);
}

void RackRelay::end_at_plane(const std::shared_ptr<Job>& job, const JobEnd& end) {
  if (job->end) return;
  job->end = abort_for_plane(end);
  if (job->at_plane == AtPlane::yes) tell_plane_end(job);
}

void RackRelay::tell_plane_end(const std::shared_ptr<Job>& job) {
  plane_calls_.add([this, job, abort = *job->end] {
    {
      const base::MutexLock lock(mutex_);
      if (job->is_replaced) return;
    }
    plane_.end_job(job->terms.job, abort);
  });
}

void RackRelay::hear_dismissal(std::uint64_t entry) {
  if (ranks_.contains(entry)) let_go(entry);
}

void RackRelay::let_go(std::uint64_t entry) {
  const auto found = ranks_.find(entry);
  Rank& rank = found->second;
  keep_promise(rank);
  leave_token(rank);
  cut(rank);
  const std::shared_ptr<RankListener> listener = std::move(rank.listener);
  const std::shared_ptr<Job> job = std::move(rank.job);
  ranks_.erase(found);
  if (job && --job->ranks == 0) drop_if_empty(job);
  if (!listener) return;
  const auto dismiss = [this, listener] { agenda_.add([listener] { listener->dismissed(); }); };
  // The last rank is dismissed once the job's slots are free.
  job && job->at_plane == AtPlane::leaving ? plane_calls_.add(dismiss) : dismiss();
}

// Drops a job whose last rank in this rack has gone.
void RackRelay::drop_if_empty(const std::shared_ptr<Job>& job) {
  if (std::exchange(job->is_dropped, true)) return;
  const auto place = jobs_.find({job->terms.job, job->terms.epoch});
  if (place != jobs_.end() && place->second == job) jobs_.erase(place);
  if (job->at_plane != AtPlane::starting) give_back(job);
}

void RackRelay::give_back(const std::shared_ptr<Job>& job) {
  if (job->at_plane == AtPlane::yes) {
    job->at_plane = AtPlane::leaving;
    plane_calls_.add([this, job] {
      plane_.forget_job(job->terms.job);
      const base::MutexLock lock(mutex_);
      job->at_plane = AtPlane::no;
      give_back_slots(*job);
    });
    return;
  }
  give_back_slots(*job);
}

}  // namespace infold::join
