// SPDX-License-Identifier: Apache-2.0
//
// Handles the messages of the rack's ranks. rack_relay_answers.cc handles the parent's answers.
#include "join/relay/rack_relay.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "join/client/job_stream.h"
#include "join/connection/connection_loop.h"
#include "join/job_terms.h"
#include "join/refusals.h"
#include "join/relay/rack_relay_job.h"

namespace infold::join {
namespace {

using namespace sentences;

// One thread serves the links of all ranks.
RackRelayOptions completed(RackRelayOptions options) {
  if (options.link) return options;
  options.link = [loop = std::make_shared<ConnectionLoop>(), parent = options.parent,
                  fingerprint = options.parent_fingerprint](
                     const Hello& hello, std::shared_ptr<RankListener> listener) {
    JobStream::Options stream;
    stream.fingerprint = fingerprint;
    stream.hello = hello;
    stream.host = "the switch's parent " + parent.text();
    stream.joins_by = std::chrono::steady_clock::now() + hello.patience;
    stream.connects_by = stream.joins_by;
    return JobStream::open(*loop, parent, stream, std::move(listener));
  };
  return options;
}

}  // namespace

RackRelay::RackRelay(Plane& plane, Uplink& uplink, RackRelayOptions options)
    : plane_(plane), uplink_(uplink), options_(completed(std::move(options))) {
  inbox_->relay = this;
  if (!options_.has_threads) return;
  look_ups_.run_on_thread({});
  plane_calls_.run_on_thread({});
  agenda_.run_on_thread({});
}

// The agendas add tasks to each other, so all threads must end before any agenda is destroyed.
RackRelay::~RackRelay() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    inbox_->relay = nullptr;
    for (auto& [entry, rank] : ranks_) cut(rank);
  }
  look_ups_.stop();
  plane_calls_.stop();
  agenda_.stop();
  work();
}

Registrar::Entry RackRelay::enter(const Hello& hello, std::shared_ptr<RankListener> listener) {
  const Answer<std::uint32_t> path = uplink_.datagram_bytes_max();
  const base::MutexLock lock(mutex_);
  const std::uint64_t entry = ++last_entry_;
  Rank& rank = ranks_[entry];
  rank.hello = hello;
  rank.listener = std::move(listener);
  Answer<Hello> up = refused(kStopping);
  if (!stopping_) {
    if (const std::optional<Refusal> lack = enter_token(rank)) {
      up = tl::unexpected(*lack);
    } else {
      up = path ? hello_for_parent(hello, *path) : Answer<Hello>(tl::unexpected(path.error()));
    }
  }
  if (!up) {
    refuse(entry, up.error());
    return Entry{entry};
  }
  rank.has_promise = rank.is_opening = true;
  agenda_.add([this, entry, up = std::move(*up)] { open_link(entry, up); });
  return Entry{entry};
}

// The parent does not see the tokens of this rack's ranks, so they are counted here.
std::optional<Refusal> RackRelay::enter_token(Rank& rank) {
  const Hello& hello = rank.hello;
  if (!hello.grant) return std::nullopt;
  const auto found = tokens_.find({hello.job, hello.world});
  if (auto lack = token_use_.find_lack(
          *hello.grant, found == tokens_.end() ? nullptr : &found->second, hello.world)) {
    return lack;
  }
  TokenUse::OfJob& own = tokens_[{hello.job, hello.world}];
  own.world = hello.world;
  token_use_.enter(own, *hello.grant);
  rank.uses_token = true;
  return std::nullopt;
}

void RackRelay::leave_token(Rank& rank) {
  if (!std::exchange(rank.uses_token, false)) return;
  const auto own = tokens_.find({rank.hello.job, rank.hello.world});
  token_use_.leave(own->second, *rank.hello.grant);
  if (own->second.held.empty()) tokens_.erase(own);
}

// Makes the hello that the parent gets instead of the rank's. It asks for no more than this switch
// can do.
Answer<Hello> RackRelay::hello_for_parent(const Hello& hello, std::uint32_t path_bytes) {
  if (hello.rack) {
    if (hello.rack->identity == options_.identity) {
      return refused(kParentIsItself, options_.address);
    }
    return refused(kParentHasParent, options_.address, options_.parent.text());
  }
  Hello up = hello;
  up.token = options_.token;
  up.grant.reset();
  const std::vector<SiteAddress> sites = plane_.sites();
  up.rack = RackHello{options_.identity, options_.address, static_cast<std::uint32_t>(sites.size()),
                      sites.front().record, options_.source};
  up.datagram_bytes_max =
      std::min({hello.datagram_bytes_max, plane_.datagram_bytes_max(), path_bytes});
  Promise& promise = promises_[hello.job];
  if (promise.ranks++ == 0) {
    const std::uint32_t total = plane_.slots_total();
    const std::uint32_t free = total - std::min(total, slots_used_ + slots_promised_);
    promise.slots = granted({hello.small_slots, hello.bulk_slots}, free, total);
    if (const std::optional<Refusal> lack = limit_to_tokens(hello, promise.slots)) {
      promises_.erase(hello.job);
      return tl::unexpected(*lack);
    }
    promise.counted = std::min(free, promise.slots.small + promise.slots.bulk);
    slots_promised_ += promise.counted;
  }
  up.small_slots = std::min(hello.small_slots, promise.slots.small);
  up.bulk_slots = std::min(hello.bulk_slots, promise.slots.bulk);
  return up;
}

// Reduces the slots to those that the tokens of the job's ranks have left.
std::optional<Refusal> RackRelay::limit_to_tokens(const Hello& hello, Slots& slots) const {
  const auto own = tokens_.find({hello.job, hello.world});
  if (own == tokens_.end()) return std::nullopt;
  const std::optional<std::uint32_t> left = token_use_.slots_free(own->second);
  if (left == 0U) return refusal(kSlotsOfTokenUsed, hello.grant->slots_max, hello.job);
  if (left) slots = shrunk(slots, *left);
  return std::nullopt;
}

void RackRelay::open_link(std::uint64_t entry, const Hello& hello) {
  std::shared_ptr<RankLink> link;
  {
    const base::MutexLock lock(mutex_);
    const auto found = ranks_.find(entry);
    if (found == ranks_.end() || stopping_) return;
    if (found->second.leaves) {
      let_go(entry);  // it left before there was a link
      return;
    }
  }
  link = options_.link(hello, std::make_shared<Ear>(inbox_, entry));
  std::optional<Parting> parting;
  {
    const base::MutexLock lock(mutex_);
    const auto found = ranks_.find(entry);
    if (found == ranks_.end() || stopping_) return;  // the link is cut
    found->second.link = link;
    found->second.is_opening = false;
    parting = found->second.leaves;
  }
  if (parting) link->leave(*parting);
}

// Only the agenda calls links, which keeps the order of the calls, and it holds no lock.
void RackRelay::tell_link(std::uint64_t entry, std::function<void(RankLink&)> message) {
  agenda_.add([this, entry, message = std::move(message)] {
    std::shared_ptr<RankLink> link;
    {
      const base::MutexLock lock(mutex_);
      const auto found = ranks_.find(entry);
      if (found != ranks_.end()) link = found->second.link;
    }
    if (link) message(*link);
  });
}

// Call it when the parent has granted the rank's slots, or never will.
void RackRelay::keep_promise(Rank& rank) {
  if (!std::exchange(rank.has_promise, false)) return;
  const auto promise = promises_.find(rank.hello.job);
  if (--promise->second.ranks > 0) return;
  slots_promised_ -= promise->second.counted;
  promises_.erase(promise);
}

void RackRelay::ready(Entry entry, const ReadyReport& report) {
  const base::MutexLock lock(mutex_);
  const auto found = ranks_.find(static_cast<std::uint64_t>(entry));
  if (found == ranks_.end() || !found->second.job || found->second.ready_report) return;
  found->second.ready_report = report;
  if (found->second.job->is_looked_up) say_ready(found->first, found->second);
}

void RackRelay::say_ready(std::uint64_t entry, const Rank& rank) {
  ReadyReport up = *rank.ready_report;
  const Job& job = *rank.job;
  if (!is_one_host(job.terms.groups, job.terms.world)) up.obstacle = job.obstacle;
  tell_link(entry, [up = std::move(up)](RankLink& link) { link.ready(up); });
}

void RackRelay::leave(Entry entry, const Parting& parting) {
  const base::MutexLock lock(mutex_);
  const auto found = ranks_.find(static_cast<std::uint64_t>(entry));
  if (found == ranks_.end()) return;
  Rank& rank = found->second;
  if (rank.leaves) return;
  rank.leaves = parting;
  keep_promise(rank);
  if (stopping_) {
    let_go(found->first);
    return;
  }
  if (rank.link) {
    tell_link(found->first, [parting](RankLink& link) { link.leave(parting); });
  } else if (!rank.is_opening) {
    let_go(found->first);
  }
}

void RackRelay::stop() {
  const base::MutexLock lock(mutex_);
  if (std::exchange(stopping_, true)) return;
  for (const auto& [key, job] : jobs_) end_at_plane(job, {});
  std::vector<std::uint64_t> refused;
  for (auto& [entry, rank] : ranks_) {
    // A link that ends without Leave or Lost tells the parent that this switch has gone.
    cut(rank);
    if (!rank.went) {
      refused.push_back(entry);
    } else if (!std::exchange(rank.is_told, true) && !rank.leaves) {
      agenda_.add([listener = rank.listener] { listener->ended({}); });
    }
  }
  for (const std::uint64_t entry : refused) refuse(entry, refusal(kStopping));
  std::vector<std::uint64_t> leaving;
  for (const auto& [entry, rank] : ranks_) {
    if (rank.leaves) leaving.push_back(entry);
  }
  for (const std::uint64_t entry : leaving) let_go(entry);
}

// The agenda destroys the link, because nothing may wait for a link's end under the lock.
void RackRelay::cut(Rank& rank) {
  if (!rank.link) return;
  agenda_.add([link = std::exchange(rank.link, nullptr)]() mutable { link.reset(); });
}

std::vector<JobMetrics> RackRelay::status() const {
  const base::MutexLock lock(mutex_);
  std::vector<JobMetrics> list;
  for (const auto& [key, job] : jobs_) {
    list.push_back({job->name, job->terms.job, job->terms.world, job->ranks, job->slots_held,
                    job->at_plane != AtPlane::no || job->began});
  }
  return list;
}

void RackRelay::work() {
  while (plane_calls_.run() || agenda_.run() || look_ups_.run()) {
  }
}

}  // namespace infold::join
