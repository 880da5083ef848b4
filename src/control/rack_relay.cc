// SPDX-License-Identifier: Apache-2.0
//
// One lock for all jobs, which is never held while the parent is asked.
#include "control/rack_relay.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "control/job_terms.h"
#include "control/parties.h"

namespace infold::control {

// Slots that ranks who wait for the parent have asked it for.
struct RackRelay::Promise {
  Slots slots;
  std::uint32_t counted = 0;
  std::uint32_t ranks = 0;
};

class RackRelay::Job final : public Registrar::Job {
 public:
  struct Place {
    std::unique_ptr<JobLink> link;  // until the rank leaves
    EndListener on_end;
    bool is_watched = false;  // the link, for its end
    bool is_told = false;
  };

  Job(std::string job_name, JobTerms at_parent)
      : name(std::move(job_name)), up(std::move(at_parent)) {}

  const std::string name;
  const JobTerms up;  // as the parent has it
  JobTerms terms;     // as our ranks do
  std::map<std::uint32_t, Place> places;
  std::size_t gone = 0;
  std::uint32_t slots_held = 0;
  bool is_looked_up = false;        // whether the parent's sites can be reached
  std::optional<Refusal> obstacle;  // why this switch cannot take the job
  std::optional<bool> began;
  bool at_plane = false;
  bool ended = false;

  std::uint32_t slots() const { return terms.small_slots + std::uint32_t{terms.bulk_slots}; }
};

namespace {

tl::unexpected<Refusal> refuse(RefusalReason reason, std::string message) {
  return tl::unexpected<Refusal>(Refusal{reason, std::move(message), -1});
}

tl::unexpected<Refusal> refuse_stopping() {
  return refuse(RefusalReason::stopping, "the switch is stopping");
}

}  // namespace

RackRelay::RackRelay(Plane& plane, Uplink& uplink, RackRelayOptions options)
    : plane_(plane), uplink_(uplink), options_(std::move(options)) {}
RackRelay::~RackRelay() = default;

RackRelay::Job& RackRelay::job_of(const Seat& seat) { return static_cast<Job&>(*seat.job); }

Answer<Registrar::Seat> RackRelay::enter(const RankWords& words, EndListener on_end) {
  Answer<RankWords> up = words_for_parent(words);
  if (!up) return tl::unexpected(up.error());
  JobLink::Limits limits;
  limits.stop = stop_.get_token();
  limits.host = "the switch's parent ";
  Answer<std::unique_ptr<JobLink>> link = JobLink::join(options_.parent, *up, limits);

  std::unique_lock lock(mutex_);
  const auto promise = promises_.find(words.job);
  std::shared_ptr<Job> job;
  bool is_first = false;
  if (link) {
    job = find_or_make(words, (*link)->terms());
    is_first = job->places.empty() && job->gone == 0;
    job->places[words.rank] = {std::move(*link), std::move(on_end)};
    if (is_first) take_slots(*job);
  }
  if (--promise->second.ranks == 0) {
    slots_promised_ -= promise->second.counted;
    promises_.erase(promise);
  }
  if (stop_.stop_requested()) {
    lock.unlock();
    if (job) leave({job, words.rank}, Parting::lost);
    return refuse_stopping();
  }
  if (!job) return tl::unexpected(link.error());
  lock.unlock();
  if (is_first) look_up(*job);
  return Seat{job, words.rank};
}

// What the parent hears in place of what the rank says: no more than this switch can do.
Answer<RankWords> RackRelay::words_for_parent(const RankWords& words) {
  if (words.rack) {
    return refuse(
        RefusalReason::invalid,
        words.rack->identity == options_.identity
            ? fmt::format("--parent of the switch at {} leads back to that switch",
                          options_.address)
            : fmt::format(
                  "the switch at {} has a parent itself, {}; a rack's parent must have none",
                  options_.address, options_.parent));
  }
  const Answer<std::uint32_t> path = uplink_.datagram_bytes_max();
  if (!path) return tl::unexpected(path.error());
  RankWords up = words;
  up.rack = RackWords{options_.identity, options_.address,
                      static_cast<std::uint32_t>(plane_.sites().size()), plane_.elements_max()};
  up.datagram_bytes_max = std::min({words.datagram_bytes_max, plane_.datagram_bytes_max(), *path});

  const std::lock_guard lock(mutex_);
  if (stop_.stop_requested()) return refuse_stopping();
  Promise& promise = promises_[words.job];
  if (promise.ranks++ == 0) {
    const std::uint32_t total = plane_.slots_total();
    const std::uint32_t free = total - std::min(total, slots_used_ + slots_promised_);
    promise.slots = granted({words.small_slots, words.bulk_slots}, free, total);
    promise.counted = std::min(free, promise.slots.small + promise.slots.bulk);
    slots_promised_ += promise.counted;
  }
  up.small_slots = std::min(words.small_slots, promise.slots.small);
  up.bulk_slots = std::min(words.bulk_slots, promise.slots.bulk);
  return up;
}

std::shared_ptr<RackRelay::Job> RackRelay::find_or_make(const RankWords& words,
                                                        const JobTerms& terms) {
  std::shared_ptr<Job>& job = jobs_[{terms.job, terms.epoch}];
  if (job) return job;
  job = std::make_shared<Job>(words.job, terms);
  job->terms = own_terms(terms, words.rank);
  return job;
}

// Our sites in place of the parent's. A job that is all in this rack has its root here.
JobTerms RackRelay::own_terms(const JobTerms& terms, std::uint32_t rank) const {
  JobTerms own = terms;
  own.sites = plane_.sites();
  const auto is_at_rank = [](const SiteAddress& site) { return site.at_rank; };
  const auto first_of_ranks = std::find_if(terms.sites.begin(), terms.sites.end(), is_at_rank);
  const core::RankRange* const rack = rack_of(terms.racks, rank);
  if (rack != nullptr && is_one_rack(terms.racks, terms.world)) {
    own.racks.clear();
  } else if (rack != nullptr) {
    const auto shared = static_cast<std::size_t>(first_of_ranks - terms.sites.begin());
    own.sites.resize(std::min(own.sites.size(), shared));
    own.parent = options_.parent;
    own.below.emplace();
    own.below->rack = *rack;
    const std::string host = options_.parent.substr(0, options_.parent.rfind(':'));
    for (std::size_t site = 0; site < own.sites.size(); ++site) {
      const std::string& address = terms.sites[site].address;
      own.below->sites.push_back(address.front() == ':' ? host + address : address);
    }
  }
  own.sites.insert(own.sites.end(), first_of_ranks, terms.sites.end());
  return own;
}

// With the lock. Others of this rack may still wait for the parent; what is promised to them is
// what is taken here.
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
}

void RackRelay::give_back_slots(Job& job) {
  slots_used_ -= job.slots_held;
  job.slots_held = 0;
}

const JobTerms& RackRelay::terms(const Seat& seat) const { return job_of(seat).terms; }

// By the job's first rank; the others wait for it in ready().
void RackRelay::look_up(Job& job) {
  std::optional<Refusal> unreachable;
  if (job.up.racks.empty()) {
    unreachable = Refusal{RefusalReason::invalid, "what is at " + options_.parent +
                                                      " knows nothing of racks: a parent must " +
                                                      "be an `infold switch` of this version"};
  } else if (job.terms.below && !is_one_host(job.terms.groups, job.terms.world)) {
    const Answer<void> reached =
        uplink_.reach(job.terms.below->sites, job.terms.datagram_bytes_max);
    if (!reached) unreachable = reached.error();
  }
  const std::lock_guard lock(mutex_);
  if (unreachable && !job.obstacle) job.obstacle = std::move(unreachable);
  job.is_looked_up = true;
  looked_up_.notify_all();
}

Answer<void> RackRelay::ready(const Seat& seat, const ReadyWords& words) {
  Job& job = job_of(seat);
  std::unique_lock lock(mutex_);
  looked_up_.wait(lock, [&] { return job.is_looked_up || stop_.stop_requested(); });
  if (stop_.stop_requested()) return refuse_stopping();
  ReadyWords up = words;
  if (!is_one_host(job.terms.groups, job.terms.world)) up.obstacle = job.obstacle;
  JobLink& link = *job.places[seat.rank].link;  // ours alone until leave()
  lock.unlock();
  const Answer<void> answer = link.ready(up);
  lock.lock();
  if (stop_.stop_requested()) return refuse_stopping();
  if (!answer) return answer;
  if (!job.began) {
    job.terms.groups = link.terms().groups;
    begin(job);
  }
  if (!*job.began) return tl::unexpected(*job.obstacle);
  job.places[seat.rank].is_watched = true;
  lock.unlock();
  link.watch([this, &job, rank = seat.rank](const JobEnd& end) { tell(job, rank, end); });
  return {};
}

// With the lock. A job of the same number that the parent had in an earlier life is over.
void RackRelay::begin(Job& job) {
  job.began = true;
  if (is_one_host(job.terms.groups, job.terms.world)) {
    give_back_slots(job);
    return;
  }
  for (const auto& [key, other] : jobs_) {
    if (!other->at_plane || key.first != job.terms.job) continue;
    plane_.forget_job(key.first);
    other->at_plane = false;
  }
  if (!job.obstacle) {
    const Answer<void> started = plane_.start_job(job.terms);
    if (!started) job.obstacle = started.error();
  }
  job.began = job.at_plane = !job.obstacle;
}

// Each link says it, and each to its own rank. With nothing in it, the parent itself has gone.
void RackRelay::tell(Job& job, std::uint32_t rank, const JobEnd& end) {
  JobEnd told = end;
  const bool says_who = end.lost_rank || !end.lost_switch.empty() || end.abort;
  if (!says_who) told.lost_switch = options_.parent;
  EndListener on_end;
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    Job::Place& place = job.places[rank];
    if (!std::exchange(place.is_told, true)) on_end = place.on_end;
    is_first = !std::exchange(job.ended, true);
  }
  if (on_end) on_end(told);
  const std::lock_guard lock(mutex_);
  if (!is_first || !job.at_plane) return;
  plane_.end_job(job.terms.job, abort_for_plane(end));
}

void RackRelay::leave(const Seat& seat, const Parting& parting) {
  Job& job = job_of(seat);
  std::unique_lock lock(mutex_);
  Job::Place& place = job.places[seat.rank];
  if (!place.link) return;
  std::unique_ptr<JobLink> link = std::move(place.link);
  place.is_told = true;
  const bool is_stopping = stop_.stop_requested();
  const bool is_watched = place.is_watched;
  lock.unlock();
  if (is_stopping) {
    link->cut();
  } else if (parting.way == Parting::in_order && is_watched) {
    link->leave(parting.abort);
  } else {
    link->report_lost();
  }
  link.reset();  // waits for its watcher, which may be on its way into tell()
  lock.lock();
  if (++job.gone == job.places.size()) drop(job);
}

// With the lock: the last rank of this rack has gone.
void RackRelay::drop(Job& job) {
  if (std::exchange(job.at_plane, false)) plane_.forget_job(job.terms.job);
  give_back_slots(job);
  const auto place = jobs_.find({job.terms.job, job.terms.epoch});
  if (place != jobs_.end() && place->second.get() == &job) jobs_.erase(place);
}

void RackRelay::stop() {
  stop_.request_stop();
  std::vector<EndListener> told;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, job] : jobs_) {
      job->ended = true;
      for (auto& [rank, place] : job->places) {
        if (!std::exchange(place.is_told, true)) told.push_back(place.on_end);
      }
    }
  }
  looked_up_.notify_all();
  for (const EndListener& tell : told) tell({});
  // To the parent, connections that end without a word are this switch's end.
  const std::lock_guard lock(mutex_);
  for (const auto& [key, job] : jobs_) {
    for (const auto& [rank, place] : job->places) {
      if (place.link) place.link->cut();
    }
  }
}

std::vector<JobStatus> RackRelay::status() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobStatus> list;
  for (const auto& [key, job] : jobs_) {
    list.push_back({job->name, job->terms.job, job->terms.world,
                    static_cast<std::uint32_t>(job->places.size()), job->slots_held,
                    job->began.value_or(false)});
  }
  return list;
}

}  // namespace infold::control
