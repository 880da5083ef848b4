// SPDX-License-Identifier: Apache-2.0
//
// Handles the messages of real ranks. switch_relay_answers.cc handles the switch's answers.
#include "study/emulate/at_switch/switch_relay.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "join/client/job_stream.h"
#include "join/connection/connection_loop.h"
#include "join/refusals.h"
#include "study/emulate/at_switch/switch_relay_job.h"
#include "study/emulate/emulated_ranks.h"

namespace infold::emulate {

using join::Hello;
using join::JobTerms;
using join::Parting;
using join::ReadyReport;
using join::Refusal;

namespace {

constexpr auto kConnectMax = std::chrono::seconds(10);
// Real ranks have deadlines of their own, so emulated ranks need not give up early.
constexpr auto kEmulatedPatience = std::chrono::hours(1);

const Refusal kStopping = join::refusal(join::sentences::kEmulatorStops);

// One thread serves the links of all ranks.
SwitchRelayOptions completed(SwitchRelayOptions options) {
  if (options.link) return options;
  options.link = [loop = std::make_shared<join::ConnectionLoop>(), there = options.real_switch](
                     const Hello& hello, std::shared_ptr<join::RankListener> listener) {
    const auto now = std::chrono::steady_clock::now();
    join::JobStream::Options stream;
    stream.hello = hello;
    stream.host = "the emulator's switch " + there.text();
    stream.joins_by = now + hello.patience;
    stream.connects_by = std::min(stream.joins_by, now + kConnectMax);
    return join::JobStream::open(*loop, there, stream, std::move(listener));
  };
  return options;
}

}  // namespace

SwitchRelay::SwitchRelay(RankPlane& plane, SwitchRelayOptions options)
    : plane_(plane), options_(completed(std::move(options))) {
  inbox_->relay = this;
  if (options_.has_threads) agenda_.run_on_thread({});
}

SwitchRelay::~SwitchRelay() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    inbox_->relay = nullptr;
    for (auto& [entry, rank] : ranks_) cut(rank);
  }
  agenda_.stop();
  work();
}

void SwitchRelay::work() {
  while (agenda_.run()) {
  }
}

std::uint64_t SwitchRelay::add(const std::shared_ptr<Job>& job, const Hello& hello,
                               std::shared_ptr<join::RankListener> listener) {
  const std::uint64_t entry = ++last_entry_;
  (listener ? job->real : job->emulated).insert(entry);
  Rank& rank = ranks_[entry];
  rank.hello = hello;
  rank.listener = std::move(listener);
  rank.job = job;
  agenda_.add([this, entry] { open_link(entry); });
  return entry;
}

join::Registrar::Entry SwitchRelay::enter(const Hello& hello,
                                          std::shared_ptr<join::RankListener> listener) {
  const base::MutexLock lock(mutex_);
  std::optional<Refusal> refusal =
      refuse_rank(hello, {options_.ranks, options_.real, !options_.rank_sites.empty()});
  if (stopping_) refusal = kStopping;
  if (refusal) {
    agenda_.add([listener = std::move(listener), hello, why = *refusal] {
      log_refused(hello, why);
      listener->refused(why);
    });
    return Entry{++last_entry_};
  }
  std::shared_ptr<Job>& job = jobs_[hello.job];
  const bool is_first = !job;
  if (is_first) job = std::make_shared<Job>();
  job->name = hello.job;
  job->has_rank_0 = job->has_rank_0 || hello.rank == 0;
  const std::shared_ptr<Job> own = job;
  Hello said = hello;
  if (said.site) said.site->weight = std::max(said.site->weight, 1U);
  const std::uint64_t entry = add(own, said, std::move(listener));
  if (is_first) add_emulated(own, said);
  return Entry{entry};
}

// The packets of emulated ranks come from this host, and the switch sees the same host in its
// connection, so their hellos name no source.
void SwitchRelay::add_emulated(const std::shared_ptr<Job>& job, const Hello& real) {
  for (std::uint32_t rank = options_.real; rank < options_.ranks; ++rank) {
    Hello hello = real;
    hello.rank = rank;
    hello.host.reset();
    hello.always_shares = false;
    hello.source = {};
    hello.patience = kEmulatedPatience;
    if (hello.site) {
      hello.site->address = text_for_ranks(options_.rank_sites[rank - options_.real]);
      hello.site->record = {};
    }
    add(job, hello, nullptr);
  }
}

void SwitchRelay::open_link(std::uint64_t entry) {
  Hello hello;
  {
    const base::MutexLock lock(mutex_);
    const auto found = ranks_.find(entry);
    if (found == ranks_.end() || stopping_) return;
    if (found->second.leaves) {
      let_go(entry);  // it left before the link was open
      return;
    }
    hello = found->second.hello;
  }
  const std::shared_ptr<join::RankLink> link =
      options_.link(hello, std::make_shared<Ear>(inbox_, entry));
  std::optional<Parting> parting;
  {
    const base::MutexLock lock(mutex_);
    const auto found = ranks_.find(entry);
    if (found == ranks_.end() || stopping_) return;  // the destructor cuts the link
    found->second.link = link;
    found->second.is_opening = false;
    parting = found->second.leaves;
  }
  if (parting) link->leave(*parting);
}

// Only the agenda calls links. It keeps their order and does not hold the lock.
void SwitchRelay::tell_link(std::uint64_t entry, std::function<void(join::RankLink&)> message) {
  agenda_.add([this, entry, message = std::move(message)] {
    std::shared_ptr<join::RankLink> link;
    {
      const base::MutexLock lock(mutex_);
      const auto found = ranks_.find(entry);
      if (found != ranks_.end()) link = found->second.link;
    }
    if (link) message(*link);
  });
}

void SwitchRelay::ready(Entry entry, const ReadyReport& report) {
  const base::MutexLock lock(mutex_);
  const auto found = ranks_.find(static_cast<std::uint64_t>(entry));
  if (found == ranks_.end() || found->second.leaves || !found->second.has_terms) return;
  if (std::exchange(found->second.is_ready, true)) return;
  tell_link(found->first, [report](join::RankLink& link) { link.ready(report); });
  Job& job = *found->second.job;
  if (job.report) return;
  job.report = report_of_emulated(report, options_.real);
  for (const std::uint64_t each : job.emulated) say_ready(each, ranks_.at(each));
}

// Reports that an emulated rank is ready. A link takes the report only after the terms.
void SwitchRelay::say_ready(std::uint64_t entry, Rank& rank) {
  if (!rank.has_terms || !rank.job->report) return;
  tell_link(entry, [report = *rank.job->report](join::RankLink& link) { link.ready(report); });
}

bool SwitchRelay::note_call(Entry entry, const join::CallNote& note) {
  base::MutexLock lock(mutex_);
  const auto found = ranks_.find(static_cast<std::uint64_t>(entry));
  if (found == ranks_.end() || found->second.leaves) return true;
  const Job& job = *found->second.job;
  if (found->second.hello.rank != 0) return false;
  if (!job.at_plane) return job.is_over;
  const std::uint16_t number = job.terms->job;
  lock.unlock();
  plane_.note_call(number, note);
  return true;
}

void SwitchRelay::fail(std::uint16_t number) {
  const base::MutexLock lock(mutex_);
  const auto named = std::find_if(jobs_.begin(), jobs_.end(), [number](const auto& each) {
    return each.second->at_plane && each.second->terms->job == number;
  });
  if (named == jobs_.end() || named->second->emulated.empty()) return;
  const std::uint64_t entry = *named->second->emulated.begin();
  Rank& rank = ranks_.at(entry);
  if (rank.leaves) return;
  const auto failed = static_cast<std::uint16_t>(rank.hello.rank);
  leave_link(
      entry, rank,
      {Parting::in_order, core::Abort{core::AbortReason::cancelled, failed, failed, {}, {}}});
}

// When the last rank leaves, a registry ends the job and frees its name, so emulated ranks leave
// before the last real rank. A rank that sums is needed until all have left, and the registry
// itself makes it wait for them.
void SwitchRelay::leave(Entry entry, const Parting& parting) {
  const base::MutexLock lock(mutex_);
  const auto found = ranks_.find(static_cast<std::uint64_t>(entry));
  if (found == ranks_.end() || found->second.leaves) return;
  Rank& rank = found->second;
  const std::shared_ptr<Job> job = rank.job;
  job->real.erase(found->first);
  if (stopping_) {
    rank.leaves = parting;
    let_go(found->first);
    return;
  }
  const bool is_calm = parting.way == Parting::in_order && !parting.abort && job->at_plane &&
                       !job->is_over && !job->emulated.empty() && !rank.hello.site;
  if (job->real.empty() && is_calm) {
    rank.leaves = parting;
    job->last = found->first;
  } else {
    leave_link(found->first, rank, parting);
  }
  if (job->real.empty()) dissolve(job);
}

void SwitchRelay::leave_link(std::uint64_t entry, Rank& rank, const Parting& parting) {
  rank.leaves = parting;
  if (rank.link) {
    tell_link(entry, [parting](join::RankLink& link) { link.leave(parting); });
  } else if (!rank.is_opening) {
    let_go(entry);
  }
}

// The last real rank has left. Emulated ranks leave as well, and the name is free.
void SwitchRelay::dissolve(const std::shared_ptr<Job>& job) {
  if (std::exchange(job->is_dissolved, true)) return;
  const auto named = jobs_.find(job->name);
  if (named != jobs_.end() && named->second == job) jobs_.erase(named);
  const std::set<std::uint64_t> emulated = job->emulated;
  for (const std::uint64_t entry : emulated) {
    const auto found = ranks_.find(entry);
    if (found != ranks_.end() && !found->second.leaves) {
      leave_link(entry, found->second, Parting::in_order);
    }
  }
  if (!std::exchange(job->at_plane, false)) return;
  agenda_.add([this, number = job->terms->job] { plane_.forget_job(number); });
}

// The rank has left. Its listener gets its last call now, unless it has had it. Where ranks sum,
// the call waits until no emulated rank is left.
void SwitchRelay::let_go(std::uint64_t entry) {
  const auto found = ranks_.find(entry);
  Rank& rank = found->second;
  cut(rank);
  const std::shared_ptr<Job> job = std::move(rank.job);
  const std::shared_ptr<join::RankListener> listener = std::move(rank.listener);
  const bool sums = rank.hello.site.has_value();
  ranks_.erase(found);
  job->real.erase(entry);
  job->emulated.erase(entry);
  if (listener) job->dismissed.push_back(listener);
  if (job->emulated.empty() || !job->is_dissolved || !sums) {
    for (const auto& each : std::exchange(job->dismissed, {})) {
      agenda_.add([each] { each->dismissed(); });
    }
  }
  if (job->real.empty()) dissolve(job);
  if (!job->emulated.empty() || !job->last) return;
  const auto last = ranks_.find(*std::exchange(job->last, std::nullopt));
  if (last != ranks_.end()) leave_link(last->first, last->second, *last->second.leaves);
}

// The agenda ends the link, so that nothing waits for that while it holds the lock.
void SwitchRelay::cut(Rank& rank) {
  if (!rank.link) return;
  agenda_.add([link = std::exchange(rank.link, nullptr)]() mutable { link.reset(); });
}

void SwitchRelay::stop() {
  const base::MutexLock lock(mutex_);
  if (std::exchange(stopping_, true)) return;
  for (auto& [entry, rank] : ranks_) {
    cut(rank);
    if (!rank.listener || rank.leaves) continue;
    if (rank.may_go && rank.job->at_plane) {
      agenda_.add([listener = rank.listener] { listener->ended({}); });
    } else {
      agenda_.add(
          [listener = std::exchange(rank.listener, nullptr)] { listener->refused(kStopping); });
    }
  }
  std::vector<std::uint64_t> gone;
  for (const auto& [entry, rank] : ranks_) {
    if (rank.leaves || !rank.listener) gone.push_back(entry);
  }
  for (const std::uint64_t entry : gone) {
    if (ranks_.contains(entry)) let_go(entry);
  }
}

std::vector<join::JobMetrics> SwitchRelay::status() const {
  const base::MutexLock lock(mutex_);
  std::vector<join::JobMetrics> list;
  for (const auto& [name, job] : jobs_) {
    list.push_back({name, job->terms ? job->terms->job : std::uint16_t{0}, options_.ranks,
                    static_cast<std::uint32_t>(job->real.size() + job->emulated.size()), 0,
                    job->at_plane});
  }
  return list;
}

}  // namespace infold::emulate
