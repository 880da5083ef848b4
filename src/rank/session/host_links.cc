// SPDX-License-Identifier: Apache-2.0
#include "rank/session/host_links.h"

#include <algorithm>
#include <future>
#include <utility>

#include "rank/session/join_error.h"

namespace infold::rank {
namespace {

// Several control planes may refuse a rank, and the most telling reason counts. A control plane
// that has found something out says more than one that a rank has left since, which this rank may
// hear first. That this rank itself stopped waiting says least.
int weight_of(control::RefusalReason reason) {
  switch (reason) {
    case control::RefusalReason::given_up: return 0;
    case control::RefusalReason::too_late:
    case control::RefusalReason::stopping: return 1;
    default: return 2;
  }
}

std::chrono::steady_clock::time_point time_point(base::Instant at) {
  return std::chrono::steady_clock::time_point{std::chrono::nanoseconds(at.ns)};
}

}  // namespace

// Each wait has a thread of its own: there are few control planes, and a wait blocks.
Result<void> HostLinks::join(const control::Hello& hello) {
  const std::stop_callback on_stop(options_.stop, [this] { joining_.request_stop(); });
  unanswered_ = options_.hosts.size();
  std::vector<std::future<Joined>> answers;
  control::Hello own = hello;
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

// After all ranks have come here, one of them may give up because of another control plane.
HostLinks::Joined HostLinks::join_at(const Host& host, const control::Hello& hello) {
  control::JobLink::Limits limits;
  limits.joins_by = time_point(options_.joins_by);
  limits.connects_by = time_point(options_.connects_by);
  limits.stop = joining_.get_token();
  limits.is_at_rank = options_.is_at_rank;
  limits.at = host.address;
  Joined link = or_stop(control::JobLink::join(host.name, hello, limits));
  if (!link) return link;
  const control::Answer<void> stays = (*link)->stay(met_.get_token());
  if (stays) return link;
  stop_joining(stays.error());
  return tl::unexpected(stays.error());
}

Result<void> HostLinks::ready(const control::ReadyReport& report) {
  const std::stop_callback on_stop(options_.stop, [this] { joining_.request_stop(); });
  unanswered_ = links_.size();
  std::vector<std::future<control::Answer<void>>> answers;
  for (const std::unique_ptr<control::JobLink>& each : links_) {
    answers.push_back(std::async(std::launch::async, [this, &link = *each, &report] {
      return or_stop(link.ready(report));
    }));
  }
  for (std::future<control::Answer<void>>& answer : answers) {
    const control::Answer<void> each = answer.get();
    if (!each) keep_reason(each.error());
  }
  if (why_) return tl::unexpected(error_of(*why_));
  if (agree_on_groups()) return {};
  return tl::unexpected(unavailable("the switches disagree about which ranks share a host"));
}

void HostLinks::note_answered() {
  const std::lock_guard lock(answers_mutex_);
  if (--unanswered_ == 0) met_.request_stop();
  answered_.notify_all();
}

// Another control plane may be about to say why a rank has left. It gets a moment for that.
void HostLinks::stop_joining(const control::Refusal& refusal) {
  std::unique_lock lock(answers_mutex_);
  if (weight_of(refusal.reason) < 2) {
    answered_.wait_for(lock, joining_.get_token(), kReasonMax, [this] { return unanswered_ == 0; });
  }
  lock.unlock();
  joining_.request_stop();
}

void HostLinks::keep_reason(const control::Refusal& refusal) {
  if (!why_ || weight_of(refusal.reason) > weight_of(why_->reason)) why_ = refusal;
}

void HostLinks::give_up(const Error& error, int rank) {
  if (error.code == Code::cancelled) return;
  const control::Refusal why = why_ ? *why_ : refusal_of(error, rank);
  for (const std::unique_ptr<control::JobLink>& link : links_) link->give_up(why);
}

void HostLinks::leave(const std::optional<core::Abort>& abort) {
  for (const std::unique_ptr<control::JobLink>& link : links_) link->leave(abort);
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
    links_[host]->watch([on_end, host](const control::JobEnd& end) { on_end(host, end); });
  }
}

}  // namespace infold::rank
