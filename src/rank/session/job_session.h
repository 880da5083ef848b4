// SPDX-License-Identifier: Apache-2.0
//
// What keeps a rank in its job besides its member: the links to the control planes, its part in
// the memory that ranks of its host share, its own aggregator where ranks sum for each other, and,
// at rank 0 of such a job, the place where they meet.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/join_options.h>
#include <infold/result.h>

#include "control/client/job_link.h"
#include "control/service/control_server.h"
#include "core/worker/worker.h"
#include "io/address/route.h"
#include "io/endpoint.h"
#include "io/udp/udp_socket.h"
#include "rank/absence.h"
#include "rank/member.h"
#include "rank/network.h"
#include "rank/session/host_share.h"
#include "rank/session/site_table.h"
#include "site/switch_shard.h"

namespace infold::rank {

class JobSession final : public Network {
 public:
  // So long a host that has refused a rank leaves the others time to say why, at most.
  static constexpr auto kReasonMax = std::chrono::milliseconds(500);

  // What a member needs to take part.
  struct Setup {
    core::WorkerOptions worker;
    std::unique_ptr<io::Endpoint> endpoint;
    std::vector<std::string> site_names;  // their addresses, for errors
    Paths paths;
  };
  struct Listener {
    std::function<void(std::uint32_t rank)> on_rank_lost;
    // `lost_switch`, if not empty: its address, where that is not the site's.
    std::function<void(std::uint8_t site, const std::string& lost_switch)> on_site_lost;
    std::function<void(const core::Abort& abort)> on_end;  // as a rank says that has left since
  };

  // Requires options that complete_from_environment() has returned. Blocks until all ranks have
  // come and are ready, or for options.deadline.
  static Result<std::unique_ptr<JobSession>> join(const JoinOptions& options,
                                                  const CallHistory& history, Setup& setup);
  ~JobSession() override;  // leaves

  void note_end(const core::Abort& abort) override;
  void note_site_lost(std::uint8_t site) override;
  // Calls the listener from other threads, until the session's end.
  void watch(const Listener& listener);

 private:
  struct Link {
    std::unique_ptr<control::JobLink> link;
    std::uint8_t first_site = 0;
  };

  JobSession(const JoinOptions& options, const CallHistory& history);
  Result<void> run(Setup& setup);
  void give_up(const Error& error);
  void log_end(const control::JobEnd& end, const std::string& host);
  void log_switch_lost(const std::string& address);
  void keep_reason(const control::Refusal& refusal);
  std::vector<std::string> host_names() const {
    return sums_at_ranks() ? std::vector{options_.rendezvous} : options_.switches;
  }
  Result<void> find_hosts();
  Result<void> choose_route();
  Result<void> open_sockets();
  Result<void> meet_all();
  std::vector<HostTerms> host_terms() const;
  Result<void> find_sites();
  core::WorkerOptions worker_options() const;
  Result<void> set_up(Setup& setup);
  bool meet_host();
  std::unique_ptr<io::Endpoint> summing_endpoint();
  void serve_site();
  Result<void> probe_sites(std::size_t datagram_bytes);
  Result<void> all_ready(const control::ReadyReport& report);
  using Joined = control::Answer<std::unique_ptr<control::JobLink>>;
  Joined meet(const std::string& name, const control::Hello& own,
              const control::JobLink::Limits& limits);
  // A link that fails ends the wait at all others, so that the ranks that meet there hear of it.
  template <typename Answer>
  Answer or_stop(Answer answer) {
    note_answered();
    if (!answer) stop_joining(answer.error());
    return answer;
  }
  void note_answered();
  void stop_joining(const control::Refusal& refusal);
  plan::Plan one_host_plan() const;
  io::MeetingTerms meeting_terms(const plan::Plan& plan) const;
  void lead(const control::HostGroup& group);
  const control::JobTerms& terms() const { return links_.front().link->terms(); }
  bool is_one_host() const { return control::is_one_host(terms().groups, terms().world); }
  control::Hello hello() const;
  bool sums_itself() const { return options_.sites != Sites::switches; }
  bool sums_at_ranks() const { return options_.sites == Sites::workers; }

  JoinOptions options_;
  CallHistory history_;
  base::Instant deadline_;  // of joining
  std::stop_source joining_;
  std::stop_source met_;  // every host has answered
  std::mutex answers_mutex_;
  std::condition_variable_any answered_;
  std::size_t unanswered_ = 0;            // links of which an answer is awaited
  std::optional<control::Refusal> why_;   // joining fails, as far as a host has said so
  std::vector<io::SocketAddress> hosts_;  // of the control planes
  io::Route route_;
  std::uint32_t datagram_bytes_max_ = 0;
  std::unique_ptr<io::UdpSocket> socket_;
  SiteTable table_;
  std::unique_ptr<HostShare> share_;  // null: this rank shares no memory
  std::unique_ptr<site::SwitchShard> shard_;
  bool site_is_served_ = false;
  std::unique_ptr<control::Registrar> registrar_;
  std::unique_ptr<control::ControlServer> server_;
  std::vector<Link> links_;
  std::optional<core::Abort> end_;  // what the others are to hear of it
  std::atomic<bool> loss_is_logged_ = false;
};

}  // namespace infold::rank
