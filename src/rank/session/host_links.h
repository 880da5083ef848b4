// SPDX-License-Identifier: Apache-2.0
//
// A rank's links to all control planes of its job, used as one. Each step goes to all of them at
// once, because each answers when all ranks have taken that step there, and ranks may name control
// planes in different orders. A link that fails ends the wait at the others, so that the ranks
// there hear of it.
//
// join(), ready(), then watch(). One thread; watch() calls back from others.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <infold/result.h>

#include "base/instant.h"
#include "control/client/job_link.h"
#include "io/address/socket_address.h"
#include "rank/session/site_table.h"

namespace infold::rank {

class HostLinks {
 public:
  // For so long, at most, a rank that one control plane has refused waits for better reasons from
  // the others.
  static constexpr auto kReasonMax = std::chrono::milliseconds(500);

  struct Host {
    std::string name;  // as the user wrote it, for errors
    io::SocketAddress address;
  };
  struct Options {
    std::vector<Host> hosts;
    base::Instant joins_by;
    base::Instant connects_by;
    bool is_at_rank = false;  // the host is rank 0, at a rendezvous
    std::stop_token stop;     // of joining
  };

  explicit HostLinks(Options options) : options_(std::move(options)) {}
  ~HostLinks() { leave({}); }
  HostLinks(const HostLinks&) = delete;
  HostLinks& operator=(const HostLinks&) = delete;

  // Blocks until all ranks have come to each control plane. The first one alone hears of the site
  // in the hello.
  Result<void> join(const control::Hello& hello);
  // Blocks until all ranks are ready everywhere. Requires: join() has succeeded.
  Result<void> ready(const control::ReadyReport& report);
  // The other ranks hear why this one does not join: a control plane's refusal, or else this error.
  void give_up(const Error& error, int rank);
  void leave(const std::optional<core::Abort>& abort);

  // As the first control plane has them. Requires: join() has succeeded.
  const control::JobTerms& terms() const { return links_.front()->terms(); }
  std::vector<HostTerms> host_terms() const;
  // Whether all control planes have the same groups.
  bool agree_on_groups() const;

  // See JobLink. Of the first control plane: an emulator is the only one of its job.
  std::function<void(const control::CallNote&)> teller() const { return links_.front()->teller(); }

  using EndListener = std::function<void(std::size_t host, const control::JobEnd& end)>;
  // Calls the listener when a control plane says that the job has ended, or is gone itself. Until
  // leave().
  void watch(const EndListener& on_end);

 private:
  using Joined = control::Answer<std::unique_ptr<control::JobLink>>;

  Joined join_at(const Host& host, const control::Hello& hello);
  template <typename Answer>
  Answer or_stop(Answer answer) {
    note_answered();
    if (!answer) stop_joining(answer.error());
    return answer;
  }
  void note_answered();
  void stop_joining(const control::Refusal& refusal);
  void keep_reason(const control::Refusal& refusal);

  const Options options_;
  std::vector<std::unique_ptr<control::JobLink>> links_;  // in the order of hosts
  std::stop_source joining_;
  std::stop_source met_;  // every control plane has answered
  std::mutex answers_mutex_;
  std::condition_variable_any answered_;
  std::size_t unanswered_ = 0;           // links that have not answered this step
  std::optional<control::Refusal> why_;  // joining fails, as far as a control plane has said so
};

}  // namespace infold::rank
