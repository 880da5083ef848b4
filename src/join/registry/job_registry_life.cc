// SPDX-License-Identifier: Apache-2.0
//
// The life of a job once all ranks are here: ready, start, leaving, refusals and deadlines.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "join/job_terms.h"
#include "join/refusals.h"
#include "join/registry/job_registry.h"
#include "join/registry/job_registry_job.h"

namespace infold::join {
namespace {

std::string text_of(const JobEnd& end) {
  if (end.lost_rank) return fmt::format("rank {} was lost", *end.lost_rank);
  if (!end.lost_switch.empty()) return "the switch at " + end.lost_switch + " was lost";
  if (!end.abort) return "the switch is stopping";
  return fmt::format("rank {} left since its calls failed", end.abort->rank);
}

}  // namespace

void JobRegistry::ready(Entry entry, const ReadyReport& report) {
  const base::MutexLock lock(mutex_);
  const auto found = entries_.find(static_cast<std::uint64_t>(entry));
  if (found == entries_.end()) return;
  const auto [job, rank] = found->second;
  RankPlace& own = job->ranks[rank];
  if (job->phase != Phase::joined || own.ready) return;
  own.ready = true;
  own.ready_report = report;
  if (++job->ready == job->ranks.size()) settle(job);
}

// All ranks are ready, and some may have found that they cannot share memory after all.
void JobRegistry::settle(const std::shared_ptr<Job>& job) {
  if (const std::optional<Refusal> odd = find_disagreement(job->name, job->ranks)) {
    refuse_all(job, *odd);
    return;
  }
  std::erase_if(job->terms.groups,
                [&](const HostGroup& group) { return !job->all_share_memory(group.ranks); });
  if (!needs_plane(*job)) {
    run(*job);
    return;
  }
  if (const Answer<void> taken = take_slots(*job); !taken) {
    refuse_all(job, taken.error());
    return;
  }
  job->phase = Phase::starting;
  job->at_plane = AtPlane::starting;
  plane_calls_.add([this, job = job] { start_at_plane(job); });
}

// Runs without the lock, so that other ranks and jobs can come and go meanwhile. This job's ranks
// may leave or miss their deadlines, and the registry may stop. The job is then refused at once,
// and its name is free. Its number and slots stay in use until the plane has forgotten the job.
void JobRegistry::start_at_plane(const std::shared_ptr<Job>& job) {
  {
    const base::MutexLock lock(mutex_);
    if (job->is_dropped) {
      job->at_plane = AtPlane::no;
      give_back(job);
      return;
    }
  }
  const Answer<void> begun = start_job(*plane_, job->terms);  // the terms do not change any more
  const base::MutexLock lock(mutex_);
  job->at_plane = begun ? AtPlane::yes : AtPlane::no;
  if (job->is_dropped) {
    give_back(job);
  } else if (!begun) {
    refuse_all(job, begun.error());
  } else {
    run(*job);
  }
}

void JobRegistry::run(Job& job) {
  job.phase = Phase::running;
  report(JoinEvent::started, job, -1, {});
  for (Place& place : job.places) {
    set_deadline(place, base::Instant::never());
    tell(place,
         [groups = job.terms.groups](RankListener& listener) { listener.all_ready(groups); });
  }
}

// Refuses all ranks of a job that does not run yet.
void JobRegistry::refuse_all(const std::shared_ptr<Job>& job, const Refusal& refusal) {
  report(JoinEvent::refused, *job, refusal.rank, refusal.message);
  drop(job);
  for (Place& place : job->places) {
    if (!place.listener) continue;
    tell(place, [refusal](RankListener& listener) { listener.refused(refusal); });
    entries_.erase(place.entry);
    set_deadline(place, base::Instant::never());
    place.listener = nullptr;
  }
}

bool JobRegistry::note_call(Entry entry, const CallNote& note) {
  base::MutexLock lock(mutex_);
  const auto found = entries_.find(static_cast<std::uint64_t>(entry));
  if (found == entries_.end()) return true;  // the job has ended, and its rank does not know yet
  const auto [job, rank] = found->second;
  if (!job->terms.wants_transfers || rank != 0) return false;
  if (job->phase == Phase::over) return true;
  if (job->phase != Phase::running) return false;
  const std::uint16_t number = job->terms.job;
  lock.unlock();
  plane_->note_call(number, note);
  return true;
}

void JobRegistry::leave(Entry entry, const Parting& parting) {
  const base::MutexLock lock(mutex_);
  const auto found = entries_.find(static_cast<std::uint64_t>(entry));
  if (found == entries_.end()) return;
  const auto [job, rank] = found->second;
  switch (job->phase) {
    case Phase::gathering:
      report(JoinEvent::went, *job, static_cast<int>(rank),
             parting.way == Parting::in_order ? "it waits no longer" : "its connection broke");
      let_go(job, rank);
      return;
    case Phase::joined:
    case Phase::starting: {
      const bool is_lost = parting.way != Parting::in_order;
      const Refusal why = parting.why
                              ? *parting.why
                              : pointing_at(rank, refusal(sentences::kRankGone, job->name, rank,
                                                          is_lost ? "was lost while" : "gave up"));
      let_go(job, rank);
      refuse_all(job, why);
      return;
    }
    case Phase::running: leave_running(job, rank, parting); return;
    case Phase::over: let_go(job, rank); return;
  }
}

void JobRegistry::leave_running(const std::shared_ptr<Job>& job, std::uint32_t rank,
                                const Parting& parting) {
  RankPlace& own = job->ranks[rank];
  if (own.gone) {  // it lingered, and its connection has gone
    if (parting.way != Parting::in_order) let_go(job, rank);
    return;
  }
  const std::uint32_t world = job->terms.world;
  const bool is_abort =
      parting.abort && parting.abort->rank < world && parting.abort->other < world;
  if (parting.way == Parting::in_order && !parting.abort) {
    own.gone = true;
    ++job->gone;
    Place& place = job->places[rank];
    place.lingers = is_needed(*job, rank);
    if (place.lingers) {
      set_deadline(place, options_.clock() + options_.limits.linger_max);
    } else {
      let_go(job, rank);
    }
    release_lingerers(job);
    return;
  }
  JobEnd why = {rank, {}, {}};
  if (parting.way == Parting::with_switch && own.hello.rack) {
    why = {std::nullopt, own.hello.rack->address, {}};
  } else if (parting.way == Parting::in_order && is_abort) {
    why = {std::nullopt, {}, parting.abort};
  }
  own.gone = true;
  ++job->gone;
  end(job, why);
  let_go(job, rank);
}

// Returns whether other ranks still need this rank's aggregator, or need this rank as a host
// leader.
bool JobRegistry::is_needed(const Job& job, std::uint32_t rank) const {
  const core::RankRange all = {0, static_cast<std::uint16_t>(job.ranks.size())};
  const HostGroup* const group = group_of(job.terms.groups, rank);
  const bool leads = group != nullptr && group->ranks.first == rank;
  const bool sums_for_all =
      job.ranks[rank].hello.site && !is_one_host(job.terms.groups, job.terms.world);
  if (!leads && !sums_for_all) return false;
  return !job.have_left(sums_for_all ? all : group->ranks);
}

void JobRegistry::release_lingerers(const std::shared_ptr<Job>& job) {
  for (std::uint32_t rank = 0; rank < job->places.size(); ++rank) {
    if (!job->places[rank].lingers) continue;
    if (job->phase == Phase::over || !is_needed(*job, rank)) let_go(job, rank);
  }
}

// Ends the job for all ranks that have not left. They hear of it from the plane's packets or over
// their connections, whichever comes first. The plane is asked before they hear, since a rank whose
// calls have failed often ends at once. Its loss must not hide from the others why they failed.
void JobRegistry::end(const std::shared_ptr<Job>& job, const JobEnd& why) {
  job->phase = Phase::over;
  job->end = why;
  report(JoinEvent::ended, *job, why.lost_rank ? static_cast<int>(*why.lost_rank) : -1,
         text_of(why));
  if (job->at_plane != AtPlane::yes) {
    tell_end(*job, why);
    return;
  }
  const base::Instant latest = options_.clock() + options_.limits.telling_max;
  for (Place& place : job->places) {
    if (place.listener && !place.lingers) set_deadline(place, latest);
  }
  plane_calls_.add([this, job] { end_at_plane(job); });
}

// Runs without the lock. The ranks may have been told meanwhile.
void JobRegistry::end_at_plane(const std::shared_ptr<Job>& job) {
  JobEnd why;
  {
    const base::MutexLock lock(mutex_);
    why = job->end;
  }
  const std::optional<core::Abort> kept = plane_->end_job(job->terms.job, abort_for_plane(why));
  if (kept && is_cause(*kept)) why = {std::nullopt, {}, kept};
  const base::MutexLock lock(mutex_);
  tell_end(*job, why);
}

void JobRegistry::tell_end(Job& job, const JobEnd& why) {
  if (std::exchange(job.end_is_told, true)) return;
  const base::Instant latest = options_.clock() + options_.limits.over_max;
  for (std::uint32_t rank = 0; rank < job.places.size(); ++rank) {
    Place& place = job.places[rank];
    if (!place.listener || place.lingers || job.ranks[rank].gone) continue;
    set_deadline(place, latest);
    tell(place, [why](RankListener& listener) { listener.ended(why); });
  }
}

// Takes a rank that has left out of its job. While the job gathers, the rank's place is free again.
void JobRegistry::let_go(const std::shared_ptr<Job>& job, std::uint32_t rank) {
  Place& place = job->places[rank];
  RankPlace& own = job->ranks[rank];
  set_deadline(place, base::Instant::never());
  entries_.erase(place.entry);
  const std::shared_ptr<RankListener> listener = std::exchange(place.listener, nullptr);
  place.lingers = false;
  if (job->phase == Phase::gathering) {
    if (own.hello.grant) token_use_.leave(job->tokens, *own.hello.grant);
    own = {};
    own.went = true;
    --job->here;
  } else if (!std::exchange(own.gone, true)) {
    ++job->gone;
  }
  if (job->phase == Phase::over) release_lingerers(job);
  drop_if_empty(job);
  if (!listener) return;
  const auto dismiss = [this, listener] { agenda_.add([listener] { listener->dismissed(); }); };
  // The last rank is dismissed once the job's slots are free, so that its next job can get them.
  job->at_plane == AtPlane::leaving ? plane_calls_.add(dismiss) : dismiss();
}

void JobRegistry::drop_if_empty(const std::shared_ptr<Job>& job) {
  const bool is_empty = std::all_of(job->places.begin(), job->places.end(),
                                    [](const Place& place) { return !place.listener; });
  if (is_empty) drop(job);
}

// Drops a job whose last rank has gone, or whose ranks are all refused. Its name is free at once,
// and its number and slots when the plane has forgotten the job.
void JobRegistry::drop(const std::shared_ptr<Job>& job) {
  if (std::exchange(job->is_dropped, true)) return;
  if (job->phase >= Phase::running) report(JoinEvent::left, *job, -1, {});
  job->phase = Phase::over;
  if (job->at_plane != AtPlane::starting) give_back(job);
}

void JobRegistry::give_back(const std::shared_ptr<Job>& job) {
  if (job->at_plane == AtPlane::yes) {
    job->at_plane = AtPlane::leaving;
    plane_calls_.add([this, job] {
      plane_->forget_job(job->terms.job);
      const base::MutexLock lock(mutex_);
      job->at_plane = AtPlane::no;
      give_back(job);
    });
    return;
  }
  token_use_.give_back(job->tokens);
  if (std::exchange(job->holds_slots, false)) {
    slots_used_ -= job->slots();
    const auto at_address = at_plane_of_address_.find(job->address_of_slots);
    at_address->second.slots -= job->slots();
    if (--at_address->second.jobs == 0) at_plane_of_address_.erase(at_address);
  }
  if (job->terms.job != 0) numbers_used_[job->terms.job] = false;
  const auto [begin, end] = jobs_.equal_range(job->name);
  const auto place =
      std::find_if(begin, end, [&](const Jobs::value_type& each) { return each.second == job; });
  if (place == end) return;
  jobs_.erase(place);
  const auto world = static_cast<std::uint32_t>(job->ranks.size());
  places_ -= world;
  const auto of_address = of_address_.find(job->address);
  of_address->second.places -= world;
  if (--of_address->second.jobs == 0) of_address_.erase(of_address);
}

void JobRegistry::stop() {
  const base::MutexLock lock(mutex_);
  if (std::exchange(stopping_, true)) return;
  std::vector<std::shared_ptr<Job>> jobs;
  for (const auto& [name, job] : jobs_) jobs.push_back(job);
  for (const std::shared_ptr<Job>& job : jobs) {
    if (job->phase == Phase::running) {
      end(job, {});
      tell_end(*job, {});  // at once, because the connections end with the registry
      release_lingerers(job);
    } else if (job->phase != Phase::over) {
      const bool is_at_rank = plane_ == nullptr && job->phase == Phase::gathering;
      refuse_all(job, is_at_rank ? too_few(job->name, job->ranks, job->turned_away) : stopping());
    }
  }
}

void JobRegistry::pass_deadlines() {
  const base::Instant now = options_.clock();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const auto [job, rank] = entries_.at(deadlines_.begin()->second);
    pass_deadline(job, rank);
  }
  agenda_.wake_at(deadlines_.empty() ? base::Instant::never() : deadlines_.begin()->first);
}

void JobRegistry::pass_deadline(const std::shared_ptr<Job>& job, std::uint32_t rank) {
  Place& place = job->places[rank];
  set_deadline(place, base::Instant::never());
  if (job->phase == Phase::gathering) {
    const Refusal why = too_few(job->name, job->ranks, job->turned_away);
    report(JoinEvent::refused, *job, static_cast<int>(rank), why.message);
    tell(place, [why](RankListener& listener) { listener.refused(why); });
    place.listener = nullptr;
    let_go(job, rank);
  } else if (job->phase == Phase::joined) {
    const auto late = job->ranks_without([](const RankPlace& each) { return each.ready; });
    refuse_all(job, pointing_at(late.front(),
                                refusal(sentences::kNotReady, job->name, rank, first_ranks(late))));
  } else if (job->phase == Phase::starting) {
    refuse_all(job, refusal(sentences::kNotStarted, job->name, rank));
  } else if (job->phase == Phase::running && place.lingers) {
    // The other ranks cannot go on without this rank's sums, so they are told now.
    end(job, {rank, {}, {}});
    release_lingerers(job);
  } else if (job->phase == Phase::over && !job->end_is_told) {
    tell_end(*job, job->end);
  } else {
    let_go(job, rank);
  }
}

void JobRegistry::set_deadline(Place& place, base::Instant deadline) {
  if (place.deadline != base::Instant::never()) deadlines_.erase({place.deadline, place.entry});
  place.deadline = deadline;
  if (deadline == base::Instant::never()) return;
  deadlines_.emplace(deadline, place.entry);
  if (deadlines_.begin()->second == place.entry) agenda_.wake_at(deadline);
}

void JobRegistry::tell(const Place& place, std::function<void(RankListener&)> message) {
  if (!place.listener) return;
  agenda_.add([listener = place.listener, message = std::move(message)] { message(*listener); });
}

void JobRegistry::report(JoinEvent event) {
  agenda_.add([this, event = std::move(event)] { options_.on_event(event); });
}

void JobRegistry::report(JoinEvent::Kind kind, const Job& job, int rank, std::string reason) {
  // A rank's refusal may name a rank that the job does not have.
  const auto place = static_cast<std::size_t>(rank);
  const std::string address = place < job.ranks.size() ? job.ranks[place].hello.address : "";
  report({kind, job.name, job.terms.job, static_cast<std::uint32_t>(job.ranks.size()),
          job.holds_slots ? job.slots() : 0, rank, address, std::move(reason)});
}

}  // namespace infold::join
