// SPDX-License-Identifier: Apache-2.0
//
// One lock and one condition for all jobs: joins are rare.
#include "control/job_registry.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/prng.h"
#include "wire/infold_wire.h"

namespace infold::control {

struct RankPlace {
  bool here = false;
  bool ready = false;
  bool gone = false;
  RankWords words;
  JobRegistry::EndListener on_end;
};

class JobRegistry::Job {
 public:
  std::string name;
  std::vector<RankPlace> ranks;
  JobTerms terms;
  std::uint32_t here = 0;
  std::uint32_t ready = 0;
  std::uint32_t gone = 0;
  bool started = false;
  bool ended = false;  // somebody was lost
  std::optional<Refusal> refusal;
  std::chrono::steady_clock::time_point waits_until;

  std::uint32_t slots() const { return terms.small_slots + std::uint32_t{terms.bulk_slots}; }
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
constexpr auto kLingerMax = std::chrono::seconds(2);

tl::unexpected<Refusal> refuse(RefusalReason reason, std::string message, int rank = -1) {
  return tl::unexpected<Refusal>(Refusal{reason, std::move(message), rank});
}

}  // namespace

JobRegistry::JobRegistry(Plane* plane, std::uint64_t seed) : plane_(plane), seed_(seed) {}
JobRegistry::~JobRegistry() = default;

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
  if (!job->refusal) return Seat{job, words.rank};
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
  terms.datagram_bytes_max = plane_ == nullptr ? ~0U : plane_->datagram_bytes_max();
  terms.elements_max =
      plane_ == nullptr ? std::uint32_t{INFOLD_ELEMENTS_MAX} : plane_->elements_max();
  std::uint32_t small = 1U << 15, bulk = 1U << 15;
  if (plane_ != nullptr) terms.sites = plane_->sites();
  for (const RankPlace& rank : job.ranks) {
    terms.datagram_bytes_max = std::min(terms.datagram_bytes_max, rank.words.datagram_bytes_max);
    small = std::min(small, rank.words.small_slots);
    bulk = std::min(bulk, rank.words.bulk_slots);
    if (rank.words.site) terms.sites.push_back(*rank.words.site);
  }
  terms.small_slots = static_cast<std::uint16_t>(small);
  terms.bulk_slots = static_cast<std::uint16_t>(bulk);
  if (terms.sites.empty()) {
    return refuse(RefusalReason::invalid,
                  "nobody aggregates: this is no switch and no rank brings a site of its own");
  }
  if (terms.sites.size() > 64) return refuse(RefusalReason::invalid, "a job has at most 64 sites");
  if (plane_ != nullptr && slots_used_ + job.slots() > plane_->slots_total()) {
    return refuse(RefusalReason::full,
                  fmt::format("the switch has {} of {} slots left and job '{}' wants {}",
                              plane_->slots_total() - slots_used_, plane_->slots_total(), job.name,
                              job.slots()));
  }
  terms.job = next_number_++;
  if (next_number_ == 0) next_number_ = 1;
  terms.epoch = static_cast<std::uint32_t>(
      base::mix64(seed_ + terms.job * 0x9E3779B97F4A7C15ULL + slots_used_));
  if (plane_ != nullptr) {
    slots_used_ += job.slots();
    plane_->start_job(terms);
  }
  job.started = true;
  return {};
}

void JobRegistry::refuse_all(Job& job, Refusal refusal) {
  if (!job.refusal) job.refusal = std::move(refusal);
  changed_.notify_all();
}

const JobTerms& JobRegistry::terms(const Seat& seat) const { return seat.job->terms; }

Answer<void> JobRegistry::ready(const Seat& seat) {
  std::unique_lock lock(mutex_);
  Job& job = *seat.job;
  job.ranks[seat.rank].ready = true;
  ++job.ready;
  changed_.notify_all();
  const auto is_settled = [&] { return job.ready == job.ranks.size() || job.ended; };
  if (!changed_.wait_until(lock, job.waits_until, is_settled)) {
    return refuse(RefusalReason::too_late,
                  fmt::format("job '{}': not all ranks were ready in time", job.name));
  }
  if (!job.ended) return {};
  const auto lost = std::find_if(job.ranks.begin(), job.ranks.end(),
                                 [](const RankPlace& each) { return each.gone; });
  const auto rank = static_cast<int>(lost - job.ranks.begin());
  return refuse(RefusalReason::too_late,
                fmt::format("job '{}': rank {} was lost while joining", job.name, rank), rank);
}

void JobRegistry::leave(const Seat& seat, bool in_order) {
  std::vector<EndListener> told;
  std::unique_lock lock(mutex_);
  Job& job = *seat.job;
  RankPlace& own = job.ranks[seat.rank];
  if (own.gone) return;
  own.gone = true;
  ++job.gone;
  if (!in_order && !job.ended) {
    job.ended = true;
    for (RankPlace& rank : job.ranks) {
      if (!rank.gone && rank.on_end) told.push_back(rank.on_end);
    }
    if (plane_ != nullptr) {
      const auto rank = static_cast<std::uint16_t>(seat.rank);
      plane_->end_job(job.terms.job, {core::AbortReason::lost, rank, rank, {}, {}});
    }
  }
  if (job.gone == job.ranks.size()) drop(seat.job);
  changed_.notify_all();
  lock.unlock();
  for (const EndListener& tell : told) tell(seat.rank);
}

void JobRegistry::linger(const Seat& seat) {
  std::unique_lock lock(mutex_);
  const Job& job = *seat.job;
  const bool is_needed = job.ranks[seat.rank].words.site.has_value();
  if (!is_needed) return;
  changed_.wait_for(lock, kLingerMax,
                    [&] { return job.gone == job.ranks.size() || job.ended || stopping_; });
}

// The last rank has gone: the name and the slots are free again.
void JobRegistry::drop(const std::shared_ptr<Job>& job) {
  if (job->started && plane_ != nullptr) {
    plane_->forget_job(job->terms.job);
    slots_used_ -= job->slots();
  }
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
      for (RankPlace& rank : job->ranks) {
        if (!rank.gone && rank.on_end) told.push_back(rank.on_end);
      }
    }
    changed_.notify_all();
  }
  for (const EndListener& tell : told) tell(std::nullopt);
}

std::vector<JobStatus> JobRegistry::status() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobStatus> list;
  for (const auto& [name, job] : jobs_) {
    list.push_back({name, job->terms.job, static_cast<std::uint32_t>(job->ranks.size()), job->here,
                    job->slots(), job->started});
  }
  return list;
}

std::uint32_t JobRegistry::slots_free() const {
  const std::lock_guard lock(mutex_);
  return plane_ == nullptr ? 0 : plane_->slots_total() - slots_used_;
}

}  // namespace infold::control
