// SPDX-License-Identifier: Apache-2.0
//
// One lock and one condition for all jobs: joins are rare.
#include "control/job_registry.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/prng.h"
#include "control/job_terms.h"
#include "control/parties.h"
#include "wire/infold_wire.h"

namespace infold::control {

class JobRegistry::Job final : public Registrar::Job {
 public:
  std::string name;
  std::vector<RankPlace> ranks;
  JobTerms terms;
  std::uint32_t here = 0;
  std::uint32_t ready = 0;
  std::uint32_t gone = 0;
  bool started = false;
  bool settled = false;
  bool holds_slots = false;
  bool at_plane = false;
  bool ended = false;  // somebody was lost
  std::optional<Refusal> refusal;
  std::chrono::steady_clock::time_point waits_until;

  std::uint32_t slots() const { return terms.small_slots + std::uint32_t{terms.bulk_slots}; }
  bool all_share_memory(core::RankRange range) const {
    const auto first = ranks.begin() + range.first;
    return std::all_of(first, first + range.count,
                       [](const RankPlace& each) { return each.ready_words.shares_memory; });
  }
  bool have_left(core::RankRange range) const {
    const auto first = ranks.begin() + range.first;
    return std::all_of(first, first + range.count, [](const RankPlace& each) { return each.gone; });
  }
  std::string missing_text() const {
    std::string text;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (!ranks[rank].here) text += (text.empty() ? "" : ", ") + std::to_string(rank);
    }
    return text;
  }
  int first_missing() const {
    const auto place =
        std::find_if(ranks.begin(), ranks.end(), [](const RankPlace& each) { return !each.here; });
    return place == ranks.end() ? -1 : static_cast<int>(place - ranks.begin());
  }
};

namespace {

constexpr std::uint32_t kWorldMax = INFOLD_WORKERS_MAX;
// Of the least MTU that every host has to carry, less headers; it holds a block of every format.
constexpr std::uint32_t kDatagramBytesMin = 512;
constexpr auto kLingerMax = std::chrono::seconds(2);
tl::unexpected<Refusal> refuse(RefusalReason reason, std::string message, int rank = -1) {
  return tl::unexpected<Refusal>(Refusal{reason, std::move(message), rank});
}

}  // namespace

JobRegistry::JobRegistry(Plane* plane, std::uint64_t seed) : plane_(plane), seed_(seed) {}
JobRegistry::~JobRegistry() = default;

JobRegistry::Job& JobRegistry::job_of(const Seat& seat) { return static_cast<Job&>(*seat.job); }

Answer<JobRegistry::Seat> JobRegistry::enter(const RankWords& words, EndListener on_end) {
  std::unique_lock lock(mutex_);
  auto placed = place(words);
  if (!placed) return tl::unexpected(placed.error());
  const std::shared_ptr<Job> job = *placed;
  RankPlace& own = job->ranks[words.rank];
  own.on_end = std::move(on_end);
  if (++job->here == job->ranks.size()) {
    if (const Answer<void> started = start(*job); !started) refuse_all(*job, started.error());
  }
  changed_.notify_all();
  changed_.wait_until(lock, job->waits_until, [&] { return job->started || job->refusal; });
  if (!job->started && !job->refusal) {
    refuse_all(*job, {RefusalReason::too_late,
                      fmt::format("job '{}': {} of {} ranks came; missing: rank {}", job->name,
                                  job->here, job->ranks.size(), job->missing_text()),
                      job->first_missing()});
  }
  if (job->started) return Seat{job, words.rank};
  own.here = false;
  if (--job->here == 0) drop(job);
  return tl::unexpected(*job->refusal);
}

// Finds or makes the job that these words belong to.
Answer<std::shared_ptr<JobRegistry::Job>> JobRegistry::place(const RankWords& words) {
  if (stopping_) return refuse(RefusalReason::stopping, "the switch is stopping");
  if (words.job.empty() || words.job.size() > 128) {
    return refuse(RefusalReason::invalid, "the job's name must have 1 to 128 characters");
  }
  if (words.world == 0 || words.world > kWorldMax || words.rank >= words.world) {
    return refuse(RefusalReason::invalid,
                  fmt::format("rank {} of {} cannot be: ranks are 0 to world - 1, worlds 1 to {}",
                              words.rank, words.world, kWorldMax));
  }
  if (words.datagram_bytes_max < kDatagramBytesMin) {
    return refuse(RefusalReason::invalid,
                  fmt::format("datagrams of {} bytes hold no chunk; {} is the least",
                              words.datagram_bytes_max, kDatagramBytesMin));
  }
  if (words.small_slots == 0 && words.bulk_slots == 0) {
    return refuse(RefusalReason::invalid, "a job without slots cannot sum");
  }
  if (words.rack && (words.rack->sites == 0 || words.rack->elements_max == 0)) {
    return refuse(RefusalReason::invalid, "the rack's switch at " + words.rack->address +
                                              " says that it has no site, or sums no elements");
  }
  const auto patience = std::chrono::steady_clock::now() + words.patience;
  std::shared_ptr<Job>& job = jobs_[words.job];
  if (job && (job->started || job->refusal)) {
    const bool over = job->refusal || job->ended;
    return refuse(RefusalReason::in_use,
                  fmt::format("a job named '{}' {}; choose another name or wait for its end",
                              words.job, over ? "is just ending" : "is running"));
  }
  if (!job) {
    job = std::make_shared<Job>();
    job->name = words.job;
    job->ranks.resize(words.world);
    job->waits_until = patience;
  }
  if (job->ranks.size() != words.world) {
    const auto other = std::find_if(job->ranks.begin(), job->ranks.end(),
                                    [](const RankPlace& each) { return each.here; });
    const auto other_rank = static_cast<int>(other - job->ranks.begin());
    return refuse(RefusalReason::mismatch,
                  fmt::format("job '{}': rank {} says there are {} ranks, rank {} says {}",
                              words.job, words.rank, words.world, other_rank, job->ranks.size()),
                  other_rank);
  }
  RankPlace& own = job->ranks[words.rank];
  if (own.here) {
    return refuse(
        RefusalReason::in_use,
        fmt::format("job '{}' has a rank {} already; is another job of this name starting?",
                    words.job, words.rank),
        static_cast<int>(words.rank));
  }
  job->waits_until = std::max(job->waits_until, patience);
  own = {};
  own.here = true;
  own.words = words;
  return job;
}

// All ranks are here: settles the terms and takes the slots.
Answer<void> JobRegistry::start(Job& job) {
  JobTerms& terms = job.terms;
  terms.world = static_cast<std::uint32_t>(job.ranks.size());
  Answer<std::vector<core::RankRange>> racks = find_racks(job.name, job.ranks);
  if (!racks) return tl::unexpected(racks.error());
  terms.racks = std::move(*racks);
  if (plane_ == nullptr && !terms.racks.empty()) {
    return refuse(
        RefusalReason::invalid,
        "no switch is here to be the parent of a rack's: --parent names a rank that sums");
  }
  terms.datagram_bytes_max = plane_ == nullptr ? ~0U : plane_->datagram_bytes_max();
  terms.elements_max =
      plane_ == nullptr ? std::uint32_t{INFOLD_ELEMENTS_MAX} : plane_->elements_max();
  Slots slots = {1U << 15, 1U << 15};
  if (plane_ != nullptr) terms.sites = plane_->sites();
  for (const RankPlace& rank : job.ranks) {
    terms.datagram_bytes_max = std::min(terms.datagram_bytes_max, rank.words.datagram_bytes_max);
    slots.small = std::min(slots.small, rank.words.small_slots);
    slots.bulk = std::min(slots.bulk, rank.words.bulk_slots);
    if (!rank.words.rack) continue;
    // A site of ours sums for one of each rack.
    terms.elements_max = std::min(terms.elements_max, rank.words.rack->elements_max);
    terms.sites.resize(std::min<std::size_t>(terms.sites.size(), rank.words.rack->sites));
  }
  for (const RankPlace& rank : job.ranks) {
    if (rank.words.site) terms.sites.push_back(*rank.words.site);
  }
  if (plane_ != nullptr && !is_one_rack(terms.racks, terms.world)) {
    const std::uint32_t total = plane_->slots_total();
    slots = granted(slots, total - slots_used_, total);
  }
  terms.small_slots = static_cast<std::uint16_t>(slots.small);
  terms.bulk_slots = static_cast<std::uint16_t>(slots.bulk);
  if (terms.sites.empty()) {
    return refuse(RefusalReason::invalid,
                  "nobody aggregates: this is no switch and no rank brings a site of its own");
  }
  if (terms.sites.size() > 64) return refuse(RefusalReason::invalid, "a job has at most 64 sites");
  terms.groups = propose_groups(job.ranks);
  if (needs_plane(job)) {
    if (Answer<void> taken = take_slots(job); !taken) return taken;
  }
  terms.job = next_number_++;
  if (next_number_ == 0) next_number_ = 1;
  terms.epoch = static_cast<std::uint32_t>(
      base::mix64(seed_ + terms.job * 0x9E3779B97F4A7C15ULL + slots_used_));
  job.started = true;
  return {};
}

// A job that is all on one host or in one rack is summed there.
bool JobRegistry::needs_plane(const Job& job) const {
  const JobTerms& terms = job.terms;
  return plane_ != nullptr && !is_one_host(terms.groups, terms.world) &&
         !is_one_rack(terms.racks, terms.world);
}

Answer<void> JobRegistry::take_slots(Job& job) {
  if (job.holds_slots) return {};
  const std::uint32_t total = plane_->slots_total();
  if (slots_used_ + job.slots() > total) {
    return tl::unexpected(
        no_slots("the switch", total - slots_used_, total, job.name, job.slots()));
  }
  slots_used_ += job.slots();
  job.holds_slots = true;
  return {};
}

// All ranks are ready: some may have found that they share no memory after all.
void JobRegistry::settle(Job& job) {
  if (std::optional<Refusal> odd = find_disagreement(job.name, job.ranks)) {
    job.settled = true;
    refuse_all(job, std::move(*odd));
    return;
  }
  std::erase_if(job.terms.groups,
                [&](const HostGroup& group) { return !job.all_share_memory(group.ranks); });
  job.settled = true;
  if (!needs_plane(job)) return;
  if (Answer<void> taken = take_slots(job); !taken) {
    refuse_all(job, taken.error());
    return;
  }
  if (Answer<void> begun = plane_->start_job(job.terms); !begun) {
    refuse_all(job, begun.error());
    return;
  }
  job.at_plane = true;
}

void JobRegistry::refuse_all(Job& job, Refusal refusal) {
  if (!job.refusal) job.refusal = std::move(refusal);
  changed_.notify_all();
}

const JobTerms& JobRegistry::terms(const Seat& seat) const { return job_of(seat).terms; }

Answer<void> JobRegistry::ready(const Seat& seat, const ReadyWords& words) {
  std::unique_lock lock(mutex_);
  Job& job = job_of(seat);
  job.ranks[seat.rank].ready = true;
  job.ranks[seat.rank].ready_words = words;
  if (++job.ready == job.ranks.size() && !job.ended) settle(job);
  changed_.notify_all();
  const auto is_settled = [&] { return job.settled || job.ended || job.refusal; };
  if (!changed_.wait_until(lock, job.waits_until, is_settled)) {
    return refuse(RefusalReason::too_late,
                  fmt::format("job '{}': not all ranks were ready in time", job.name));
  }
  if (job.refusal) return tl::unexpected(*job.refusal);
  if (!job.ended) return {};
  const auto lost = std::find_if(job.ranks.begin(), job.ranks.end(),
                                 [](const RankPlace& each) { return each.gone; });
  const auto rank = static_cast<int>(lost - job.ranks.begin());
  return refuse(RefusalReason::too_late,
                fmt::format("job '{}': rank {} was lost while joining", job.name, rank), rank);
}

void JobRegistry::leave(const Seat& seat, const Parting& parting) {
  Ending ending;
  std::unique_lock lock(mutex_);
  Job& job = job_of(seat);
  RankPlace& own = job.ranks[seat.rank];
  if (own.gone) return;
  own.gone = true;
  ++job.gone;
  const bool is_over = parting.way != Parting::in_order || parting.abort;
  if (is_over && !job.ended && !job.refusal) {
    JobEnd why = {seat.rank, {}, {}};
    if (parting.way == Parting::with_switch) why = {std::nullopt, own.words.rack->address, {}};
    if (parting.way == Parting::in_order) why = {std::nullopt, {}, parting.abort};
    ending = end(job, std::move(why));
  } else if (!is_over && !job.settled && !job.ended) {
    refuse_all(job, {RefusalReason::too_late,
                     fmt::format("job '{}': rank {} gave up joining", job.name, seat.rank),
                     static_cast<int>(seat.rank)});
  }
  if (job.gone == job.ranks.size()) drop(std::static_pointer_cast<Job>(seat.job));
  changed_.notify_all();
  lock.unlock();
  tell(ending);
}

// Gives what is to be told without the lock. Packets are slower to say which switch is lost than
// connections, and name only a site: they come last.
JobRegistry::Ending JobRegistry::end(Job& job, JobEnd why) {
  Ending ending;
  job.ended = true;
  for (RankPlace& rank : job.ranks) {
    if (!rank.gone && rank.on_end) ending.told.push_back(rank.on_end);
  }
  if (job.at_plane) ending.at_plane = job.terms.job;
  ending.why = std::move(why);
  return ending;
}

void JobRegistry::tell(const Ending& ending) {
  for (const EndListener& tell : ending.told) tell(ending.why);
  if (ending.at_plane) plane_->end_job(*ending.at_plane, abort_for_plane(ending.why));
}

void JobRegistry::linger(const Seat& seat) {
  std::unique_lock lock(mutex_);
  Job& job = job_of(seat);
  const core::RankRange all = {0, static_cast<std::uint16_t>(job.ranks.size())};
  const HostGroup* const group = group_of(job.terms.groups, seat.rank);
  const bool leads = group != nullptr && group->ranks.first == seat.rank;
  const bool sums_for_all =
      job.ranks[seat.rank].words.site && !is_one_host(job.terms.groups, job.terms.world);
  if (!leads && !sums_for_all) return;
  const core::RankRange served = sums_for_all ? all : group->ranks;
  const bool is_over = changed_.wait_for(
      lock, kLingerMax, [&] { return job.have_left(served) || job.ended || stopping_; });
  if (is_over) return;
  // The others cannot go on without what it did for them; better to say so than to let them wait.
  const Ending ending = end(job, {seat.rank, {}, {}});
  lock.unlock();
  tell(ending);
}

// The last rank has gone: the name and the slots are free again.
void JobRegistry::drop(const std::shared_ptr<Job>& job) {
  if (job->at_plane) plane_->forget_job(job->terms.job);
  if (job->holds_slots) slots_used_ -= job->slots();
  const auto place = jobs_.find(job->name);
  if (place != jobs_.end() && place->second == job) jobs_.erase(place);
}

void JobRegistry::stop() {
  std::vector<EndListener> told;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& [name, job] : jobs_) {
      if (!job->started) {
        refuse_all(*job, {RefusalReason::stopping, "the switch is stopping", -1});
        continue;
      }
      // Its ranks are being told why; the one that they met at stops first.
      if (job->refusal || job->ended) continue;
      for (RankPlace& rank : job->ranks) {
        if (!rank.gone && rank.on_end) told.push_back(rank.on_end);
      }
    }
    changed_.notify_all();
  }
  for (const EndListener& tell : told) tell({});
}

std::vector<JobStatus> JobRegistry::status() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobStatus> list;
  for (const auto& [name, job] : jobs_) {
    list.push_back({name, job->terms.job, static_cast<std::uint32_t>(job->ranks.size()),
                    job->here - job->gone, job->holds_slots ? job->slots() : 0, job->started});
  }
  return list;
}

std::uint32_t JobRegistry::slots_free() const {
  const std::lock_guard lock(mutex_);
  return plane_ == nullptr ? 0 : plane_->slots_total() - slots_used_;
}

}  // namespace infold::control
