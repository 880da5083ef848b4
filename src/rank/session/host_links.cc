// SPDX-License-Identifier: Apache-2.0
#include "rank/session/host_links.h"

#include <algorithm>
#include <future>
#include <utility>

#include "rank/session/join_error.h"

namespace infold::rank {
namespace {

// If several join servers refuse a rank, the most informative reason counts. A join server that has
// found a fault says more than one that merely reports a rank's departure, which this rank may hear
// of first. The least informative reason is that this rank itself stopped waiting.
int weight_of(join::RefusalReason reason) {
  switch (reason) {
    case join::RefusalReason::given_up: return 0;
    case join::RefusalReason::too_late:
    case join::RefusalReason::stopping: return 1;
    default: return 2;
  }
}

std::chrono::steady_clock::time_point time_point(base::Instant at) {
  return std::chrono::steady_clock::time_point{std::chrono::nanoseconds(at.ns)};
}

}  // namespace

// Each wait has its own thread, because a wait blocks and there are only a few join servers.
Result<void> HostLinks::join(const join::Hello& hello) {
  const std::stop_callback on_stop(options_.stop, [this] { joining_.request_stop(); });
  expect_answers(options_.hosts.size());
  std::vector<std::future<Joined>> answers;
  join::Hello own = hello;
  for (const Host& host : options_.hosts) {
    answers.push_back(
        std::async(std::launch::async, [this, own, &host] { return join_at(host, own); }));
    own.site.reset();
  }
  for (std::future<Joined>& answer : answers) {
    Joined link = answer.get();
    if (link) {
      links_.push_back(std::move(*link));
    } else {
      keep_reason(link.error());
    }
  }
  if (why_) return tl::unexpected(error_of(*why_));
  return {};
}

// Even after all ranks have come here, one of them may give up because of another join server.
HostLinks::Joined HostLinks::join_at(const Host& host, const join::Hello& hello) {
  join::JobLink::Limits limits;
  limits.joins_by = time_point(options_.joins_by);
  limits.connects_by = time_point(options_.connects_by);
  limits.stop = joining_.get_token();
  limits.is_at_rank = options_.is_at_rank;
  limits.at = host.address;
  limits.fingerprint = host.fingerprint;
  join::Hello own = hello;
  own.token = host.token;
  Joined link = or_stop(join::JobLink::join(host.name, own, limits));
  if (!link) return link;
  const join::Answer<void> stays = (*link)->stay(met_.get_token());
  if (stays) return link;
  stop_joining(stays.error());
  return tl::unexpected(stays.error());
}

Result<void> HostLinks::ready(const join::ReadyReport& report) {
  const std::stop_callback on_stop(options_.stop, [this] { joining_.request_stop(); });
  expect_answers(links_.size());
  std::vector<std::future<join::Answer<void>>> answers;
  for (const std::unique_ptr<join::JobLink>& each : links_) {
    answers.push_back(std::async(std::launch::async, [this, &link = *each, &report] {
      return or_stop(link.ready(report));
    }));
  }
  for (std::future<join::Answer<void>>& answer : answers) {
    const join::Answer<void> each = answer.get();
    if (!each) keep_reason(each.error());
  }
  if (why_) return tl::unexpected(error_of(*why_));
  if (agree_on_groups()) return {};
  return tl::unexpected(unavailable("the switches disagree about which ranks share a host"));
}

void HostLinks::expect_answers(std::size_t links) {
  const base::MutexLock lock(answers_mutex_);
  unanswered_ = links;
}

void HostLinks::note_answered() {
  const base::MutexLock lock(answers_mutex_);
  if (--unanswered_ == 0) met_.request_stop();
  answered_.notify_all();
}

// Another join server may be about to say why a rank has left, so it gets a moment for that.
void HostLinks::stop_joining(const join::Refusal& refusal) {
  base::MutexLock lock(answers_mutex_);
  if (weight_of(refusal.reason) < 2) {
    answered_.wait_for(lock, joining_.get_token(), kReasonMax,
                       [this]() REQUIRES(answers_mutex_) { return unanswered_ == 0; });
  }
  lock.unlock();
  joining_.request_stop();
}

void HostLinks::keep_reason(const join::Refusal& refusal) {
  if (!why_ || weight_of(refusal.reason) > weight_of(why_->reason)) why_ = refusal;
}

void HostLinks::give_up(const Error& error, int rank) {
  if (error.code == Code::cancelled) return;
  const join::Refusal why = why_ ? *why_ : refusal_of(error, rank);
  for (const std::unique_ptr<join::JobLink>& link : links_) link->give_up(why);
}

void HostLinks::leave(const std::optional<core::Abort>& abort) {
  for (const std::unique_ptr<join::JobLink>& link : links_) link->leave(abort);
  links_.clear();
}

std::vector<HostTerms> HostLinks::host_terms() const {
  std::vector<HostTerms> hosts;
  for (const auto& link : links_) hosts.push_back({&link->terms(), link->host()});
  return hosts;
}

bool HostLinks::agree_on_groups() const {
  return std::all_of(links_.begin(), links_.end(),
                     [this](const auto& link) { return link->terms().groups == terms().groups; });
}

void HostLinks::watch(const EndListener& on_end) {
  for (std::size_t host = 0; host < links_.size(); ++host) {
    links_[host]->watch([on_end, host](const join::JobEnd& end) { on_end(host, end); });
  }
}

}  // namespace infold::rank
