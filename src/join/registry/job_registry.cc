// SPDX-License-Identifier: Apache-2.0
//
// The first part of a job's life, until all ranks are here. The rest is in job_registry_life.cc.
#include "join/registry/job_registry.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "core/stripe.h"
#include "io/host/clock.h"
#include "io/host/entropy.h"
#include "join/job_use.h"
#include "join/refusals.h"
#include "join/registry/job_registry_job.h"

namespace infold::join {
namespace {

using namespace sentences;

RegistryOptions completed(RegistryOptions options) {
  if (!options.clock) options.clock = io::monotonic_now;
  if (!options.entropy) options.entropy = io::fresh_number;
  if (!options.on_event) options.on_event = log_event;
  return options;
}

}  // namespace

JobRegistry::JobRegistry(Plane* plane, RegistryOptions options)
    : plane_(plane),
      options_(completed(std::move(options))),
      numbers_used_(std::size_t{kNumberMax} + 1) {
  numbers_used_[0] = true;  // jobs that have not joined have the number 0
  if (!options_.has_threads) return;
  if (plane_ != nullptr) plane_calls_.run_on_thread({});
  agenda_.run_on_thread([this] {
    const base::MutexLock lock(mutex_);
    pass_deadlines();
  });
}

// Each agenda adds tasks to the other one, so both threads must end before either agenda is
// destroyed.
JobRegistry::~JobRegistry() {
  agenda_.stop();
  plane_calls_.stop();
  make_calls();
}

Registrar::Entry JobRegistry::enter(const Hello& hello, std::shared_ptr<RankListener> listener) {
  const base::MutexLock lock(mutex_);
  const std::uint64_t entry = ++last_entry_;
  std::shared_ptr<Job> job = find(hello.job);
  if (std::optional<Refusal> obstacle = find_obstacle(hello, job.get())) {
    if (job && job->phase == Phase::gathering && !stopping_) job->turned_away = obstacle->message;
    report({JoinEvent::refused, hello.job, 0, hello.world, 0, static_cast<int>(hello.rank),
            hello.address, obstacle->message});
    agenda_.add(
        [listener = std::move(listener), why = std::move(*obstacle)] { listener->refused(why); });
    return Entry{entry};
  }
  if (!job) {
    job = std::make_shared<Job>();
    job->name = hello.job;
    job->address = hello.address;
    job->tokens.world = hello.world;
    job->ranks.resize(hello.world);
    job->places.resize(hello.world);
    jobs_.emplace(job->name, job);
    OfAddress& of_address = of_address_[job->address];
    ++of_address.jobs;
    of_address.places += hello.world;
    places_ += hello.world;
  }
  RankPlace& own = job->ranks[hello.rank];
  own = {};
  own.here = true;
  own.hello = hello;
  if (hello.grant) token_use_.enter(job->tokens, *hello.grant);
  Place& place = job->places[hello.rank];
  place.listener = std::move(listener);
  place.entry = entry;
  entries_[entry] = {job, hello.rank};
  const base::Duration patience = {std::chrono::nanoseconds(hello.patience).count()};
  set_deadline(place, options_.clock() + std::min(patience, options_.limits.patience_max));
  report(JoinEvent::entered, *job, static_cast<int>(hello.rank), {});
  if (++job->here < job->ranks.size()) return Entry{entry};
  if (const Answer<void> assembled = assemble(*job); !assembled) {
    refuse_all(job, assembled.error());
  }
  return Entry{entry};
}

// Returns the job of this name that is not over, or null.
std::shared_ptr<JobRegistry::Job> JobRegistry::find(const std::string& name) const {
  const auto [begin, end] = jobs_.equal_range(name);
  const auto found = std::find_if(
      begin, end, [](const Jobs::value_type& each) { return each.second->phase != Phase::over; });
  return found == end ? nullptr : found->second;
}

Refusal JobRegistry::stopping() const {
  if (plane_ != nullptr) return refusal(kStopping);
  return pointing_at(0, refusal(kRendezvousIsOver));
}

// Returns the refusal if there is no room for another job, whose first rank has sent this hello.
std::optional<Refusal> JobRegistry::find_lack_of_room(const Hello& hello) const {
  const RegistryLimits& limits = options_.limits;
  if (jobs_.size() >= limits.jobs_max) return refusal(kJobs, jobs_.size());
  if (hello.world > limits.places_max - places_) {
    return refusal(kRanks, places_, hello.world, limits.places_max);
  }
  // A token has limits of its own, and its ranks may all be behind one address.
  if (hello.grant || hello.address.empty()) return std::nullopt;
  const auto found = of_address_.find(hello.address);
  const OfAddress of_address = found == of_address_.end() ? OfAddress{} : found->second;
  if (of_address.jobs >= limits.jobs_of_address_max) {
    return refusal(kJobsOfAddress, of_address.jobs, hello.address);
  }
  if (hello.world >
      limits.places_of_address_max - std::min(limits.places_of_address_max, of_address.places)) {
    return refusal(kRanksOfAddress, of_address.places, hello.address, hello.world,
                   limits.places_of_address_max);
  }
  return std::nullopt;
}

// Returns why a rank with this hello cannot enter this job, which may be null.
std::optional<Refusal> JobRegistry::find_obstacle(const Hello& hello, const Job* job) const {
  if (stopping_) return stopping();
  if (job == nullptr) {
    if (std::optional<Refusal> lack = find_lack_of_room(hello)) return lack;
    return hello.grant ? token_use_.find_lack(*hello.grant, nullptr, hello.world) : std::nullopt;
  }
  if (job->phase != Phase::gathering) return refusal(kJobRuns, hello.job);
  if (job->ranks.size() != hello.world) {
    const auto other = static_cast<Number>(job->first_here());
    return pointing_at(
        other, refusal(kOtherWorld, hello.job, hello.rank, hello.world, other, job->ranks.size()));
  }
  if (job->ranks[hello.rank].here) {
    return pointing_at(hello.rank, refusal(kRankIsHere, hello.job, hello.rank));
  }
  return hello.grant ? token_use_.find_lack(*hello.grant, &job->tokens, hello.world) : std::nullopt;
}

// Settles the terms and takes the slots, because all ranks are here.
Answer<void> JobRegistry::assemble(Job& job) {
  JobTerms& terms = job.terms;
  terms.world = static_cast<std::uint32_t>(job.ranks.size());
  Answer<std::vector<core::RankRange>> racks = find_racks(job.name, job.ranks);
  if (!racks) return tl::unexpected(racks.error());
  terms.racks = std::move(*racks);
  for (const core::RankRange rack : terms.racks) {
    terms.rack_sources.push_back(job.ranks[rack.first].hello.rack->source);
  }
  if (plane_ == nullptr && !terms.racks.empty()) {
    return refused(kParentIsARank);
  }
  terms.datagram_bytes_max = plane_ == nullptr ? ~0U : plane_->datagram_bytes_max();
  if (plane_ != nullptr) terms.sites = plane_->sites();
  for (const RankPlace& rank : job.ranks) {
    terms.datagram_bytes_max = std::min(terms.datagram_bytes_max, rank.hello.datagram_bytes_max);
    if (!rank.hello.rack) continue;
    // A site of ours sums for one site of each rack.
    terms.sites.resize(std::min<std::size_t>(terms.sites.size(), rank.hello.rack->sites));
  }
  for (const RankPlace& rank : job.ranks) {
    if (rank.hello.site) terms.sites.push_back(*rank.hello.site);
    terms.rank_sources.push_back(rank.hello.source);
  }
  if (terms.sites.empty()) return refused(kNoSites);
  if (terms.sites.size() > core::Stripe::kSitesMax) {
    return refused(kManySites, job.name, terms.sites.size(), core::Stripe::kSitesMax);
  }
  const Answer<JobUse> use = job_use(job.name, all_sites(job.ranks, terms));
  if (!use) return tl::unexpected(use.error());
  terms.formats = use->formats;
  terms.elements_max = use->elements_max;
  if (plane_ == nullptr || plane_->takes_host_groups()) terms.groups = propose_groups(job.ranks);
  terms.wants_transfers = plane_ != nullptr && plane_->wants_transfers();
  if (const Answer<void> fits = fit_chunks(job); !fits) return fits;
  if (may_sum_native(job)) terms.native_types = use->native;
  terms.brief_results = std::all_of(job.ranks.begin(), job.ranks.end(),
                                    [](const RankPlace& rank) { return rank.hello.takes_brief; });
  if (const Answer<void> shared = share_slots(job); !shared) return shared;
  const std::optional<std::uint16_t> number = take_number();
  if (!number) return refused(kJobNumbers);
  terms.job = *number;
  terms.epoch = static_cast<std::uint32_t>(options_.entropy());
  job.phase = Phase::joined;
  report(JoinEvent::joined, job, -1, {});
  const base::Instant latest = options_.clock() + options_.limits.ready_max;
  // All ranks share one copy, because terms with the addresses of all ranks are long.
  const auto said = std::make_shared<const JobTerms>(terms);
  for (Place& place : job.places) {
    set_deadline(place, std::min(place.deadline, latest));
    tell(place, [said](RankListener& listener) { listener.all_here(*said); });
  }
  return {};
}

// Returns whether the job may use native although not all sites sum it in every job. Sites that sum
// it only in jobs without trees need memory for it, so other jobs should not ask for it.
bool JobRegistry::may_sum_native(const Job& job) {
  const JobTerms& terms = job.terms;
  return !terms.formats.has(core::WireFormat::native) && terms.racks.empty() &&
         terms.groups.empty() &&
         std::all_of(job.ranks.begin(), job.ranks.end(),
                     [](const RankPlace& rank) { return rank.hello.wants_native; });
}

// Partial sums of groups are longer than the packets of ranks. If the path is too narrow for such
// packets, the job does not use groups.
Answer<void> JobRegistry::fit_chunks(Job& job) {
  JobTerms& terms = job.terms;
  const bool is_alone = is_one_host(terms.groups, terms.world);
  const auto fits = [&] {
    const bool is_tree = !terms.racks.empty() || (!terms.groups.empty() && !is_alone);
    return plan::holds_all_layouts({terms.datagram_bytes_max, terms.elements_max, is_tree},
                                   terms.formats);
  };
  if (!fits() && !is_alone) terms.groups.clear();
  if (fits()) return {};
  return refused(kNoBlockFits, job.name, terms.datagram_bytes_max, terms.elements_max);
}

// Takes the fewest slots that any rank asks for, but no more than are left here. If some ranks ask
// only for slots of one kind and others only for the other kind, no slot is left.
Answer<void> JobRegistry::share_slots(Job& job) {
  JobTerms& terms = job.terms;
  Slots slots = {kSlotsMax, kSlotsMax};
  for (const RankPlace& rank : job.ranks) {
    slots.small = std::min(slots.small, rank.hello.small_slots);
    slots.bulk = std::min(slots.bulk, rank.hello.bulk_slots);
  }
  if (slots.small + slots.bulk == 0) return refused(kNoCommonSlots, job.name);
  job.address_of_slots = job.ranks.front().hello.address;
  if (plane_ != nullptr && !is_one_rack(terms.racks, terms.world)) {
    const auto [free, total] = slots_for(job);
    slots = shrunk(granted(slots, free, total), plane_->slots_of_job_max());
    if (const auto left = token_use_.slots_free(job.tokens)) {
      if (*left == 0) return tl::unexpected(no_slots_of_token(job));
      slots = shrunk(slots, *left);
    }
  }
  terms.small_slots = static_cast<std::uint16_t>(slots.small);
  terms.bulk_slots = static_cast<std::uint16_t>(slots.bulk);
  return needs_plane(job) ? take_slots(job) : Answer<void>{};
}

// A job that is all on one host or in one rack is summed there, without the plane.
bool JobRegistry::needs_plane(const Job& job) const {
  const JobTerms& terms = job.terms;
  return plane_ != nullptr && !is_one_host(terms.groups, terms.world) &&
         !is_one_rack(terms.racks, terms.world);
}

Answer<void> JobRegistry::take_slots(Job& job) {
  if (job.holds_slots) return {};
  const auto [free, total] = slots_for(job);
  if (job.slots() > free) {
    const bool is_share = total < plane_->slots_total();
    return tl::unexpected(
        no_slots(is_share ? "the switch, for jobs whose rank 0 is at " + job.address_of_slots + ","
                          : "the switch",
                 free, total, job.name, job.slots()));
  }
  // A job that was to be summed on one host has not asked its tokens before.
  if (token_use_.slots_free(job.tokens).value_or(job.slots()) < job.slots()) {
    return tl::unexpected(no_slots_of_token(job));
  }
  AtAddress& at_address = at_plane_of_address_[job.address_of_slots];
  const std::uint32_t jobs_max = plane_->jobs_max() - plane_->jobs_max() / 4;
  if (has_limited_address(job) && at_address.jobs >= jobs_max) {
    return refused(kStartedJobsOfAddress, at_address.jobs, job.address_of_slots);
  }
  ++at_address.jobs;
  at_address.slots += job.slots();
  slots_used_ += job.slots();
  token_use_.set_slots(job.tokens, job.slots());
  job.holds_slots = true;
  return {};
}

// Returns the refusal of a job whose tokens have too few slots left.
Refusal JobRegistry::no_slots_of_token(const Job& job) const {
  std::uint32_t least = keys::Grant::kUnlimited;
  for (const auto& [id, held] : job.tokens.held) least = std::min(least, held.grant.slots_max);
  return refusal(kSlotsOfTokenUsed, least, job.name);
}

// Limits of addresses are for strangers. Ranks with tokens have the limits of their tokens instead,
// and ranks of this process have none.
bool JobRegistry::has_limited_address(const Job& job) {
  return !job.address_of_slots.empty() && !job.ranks.front().hello.grant;
}

// The jobs of one address together get a share of the slots. To them, this share looks like the
// whole switch.
JobRegistry::FreeSlots JobRegistry::slots_for(const Job& job) const {
  const std::uint32_t total = plane_->slots_total();
  if (!has_limited_address(job)) return {total - slots_used_, total};
  const auto found = at_plane_of_address_.find(job.address_of_slots);
  const std::uint32_t held = found == at_plane_of_address_.end() ? 0 : found->second.slots;
  const std::uint32_t share = slot_share(total);
  return {std::min(total - slots_used_, share - std::min(held, share)), share};
}

// Takes numbers in a circle, so that each one rests as long as possible before it is used again.
std::optional<std::uint16_t> JobRegistry::take_number() {
  for (std::uint32_t tries = 0; tries <= kNumberMax; ++tries) {
    const std::uint16_t number = next_number_++;
    if (numbers_used_[number]) continue;
    numbers_used_[number] = true;
    return number;
  }
  return std::nullopt;
}

std::vector<JobMetrics> JobRegistry::status() const {
  const base::MutexLock lock(mutex_);
  std::vector<JobMetrics> list;
  for (const auto& [name, job] : jobs_) {
    list.push_back({name, job->terms.job, static_cast<std::uint32_t>(job->ranks.size()),
                    job->here - job->gone, job->holds_slots ? job->slots() : 0,
                    job->phase != Phase::gathering});
  }
  return list;
}

std::uint32_t JobRegistry::slots_free() const {
  const base::MutexLock lock(mutex_);
  return plane_ == nullptr ? 0 : plane_->slots_total() - slots_used_;
}

void JobRegistry::work() {
  {
    const base::MutexLock lock(mutex_);
    pass_deadlines();
  }
  make_calls();
}

void JobRegistry::make_calls() {
  while (plane_calls_.run() || agenda_.run()) {
  }
}

base::Instant JobRegistry::next_deadline() const {
  const base::MutexLock lock(mutex_);
  return deadlines_.empty() ? base::Instant::never() : deadlines_.begin()->first;
}

}  // namespace infold::join
