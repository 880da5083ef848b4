// SPDX-License-Identifier: Apache-2.0
//
// A rank's links to all join servers of its job, used as one. Each step is taken at all join
// servers at once: each answers when all ranks have taken the step there, and ranks may name join
// servers in different orders. If a link fails, the waits at the others end, so that the ranks
// there hear of it.
//
// Call join(), ready(), then watch(), from one thread. watch() calls back from other threads.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <infold/result.h>

#include "base/instant.h"
#include "base/mutex.h"
#include "io/address/socket_address.h"
#include "join/client/job_link.h"
#include "rank/session/site_table.h"

namespace infold::rank {

class HostLinks {
 public:
  // A rank that one join server has refused waits at most this long for better reasons from the
  // others.
  static constexpr auto kReasonMax = std::chrono::milliseconds(500);

  struct Host {
    std::string name;  // as the user wrote it, for errors
    io::SocketAddress address;
    std::optional<keys::Fingerprint> fingerprint = {};  // empty: it uses no keys
    std::string token = {};
  };
  struct Options {
    std::vector<Host> hosts;
    base::Instant joins_by;
    base::Instant connects_by;
    bool is_at_rank = false;  // the host is rank 0, which serves the rendezvous
    std::stop_token stop;     // ends joining
  };

  explicit HostLinks(Options options) : options_(std::move(options)) {}
  ~HostLinks() { leave({}); }
  HostLinks(const HostLinks&) = delete;
  HostLinks& operator=(const HostLinks&) = delete;

  // Blocks until all ranks have come to each join server. Only the first join server hears of the
  // site in the hello.
  Result<void> join(const join::Hello& hello);
  // Blocks until all ranks are ready at all join servers. Requires: join() has succeeded.
  Result<void> ready(const join::ReadyReport& report);
  // Tells the other ranks why this rank does not join: a join server's refusal, or otherwise this
  // error.
  void give_up(const Error& error, int rank);
  void leave(const std::optional<core::Abort>& abort);

  // The terms of the first join server. Requires: join() has succeeded.
  const join::JobTerms& terms() const { return links_.front()->terms(); }
  std::vector<HostTerms> host_terms() const;
  // Whether all join servers have the same groups.
  bool agree_on_groups() const;

  // See JobLink. Uses the first join server, because an emulator is the only join server of its
  // job.
  std::function<void(const join::CallNote&)> teller() const { return links_.front()->teller(); }

  using EndListener = std::function<void(std::size_t host, const join::JobEnd& end)>;
  // Calls the listener when a join server says that the job has ended, or when the join server
  // itself is gone. Does not call it after leave().
  void watch(const EndListener& on_end);

 private:
  using Joined = join::Answer<std::unique_ptr<join::JobLink>>;

  Joined join_at(const Host& host, const join::Hello& hello);
  template <typename Answer>
  Answer or_stop(Answer answer) {
    note_answered();
    if (!answer) stop_joining(answer.error());
    return answer;
  }
  void expect_answers(std::size_t links);
  void note_answered();
  void stop_joining(const join::Refusal& refusal);
  void keep_reason(const join::Refusal& refusal);

  const Options options_;
  std::vector<std::unique_ptr<join::JobLink>> links_;  // in the order of hosts
  std::stop_source joining_;
  std::stop_source met_;  // stopped when every join server has answered
  base::Mutex answers_mutex_;
  base::StopConditionVariable answered_;
  std::size_t unanswered_ GUARDED_BY(answers_mutex_) = 0;  // links without an answer in this step
  std::optional<join::Refusal> why_;  // why joining fails, if a join server has said so
};

}  // namespace infold::rank
