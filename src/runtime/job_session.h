// SPDX-License-Identifier: Apache-2.0
//
// What keeps a rank in its job besides its member: the links to the control planes, its part in
// the memory that ranks of its host share, its own aggregator where ranks sum for each other, and,
// at rank 0 of such a job, the place where they meet.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infold/join_options.h>
#include <infold/result.h>

#include "control/control_server.h"
#include "control/job_link.h"
#include "core/worker.h"
#include "io/datagram_port.h"
#include "io/route.h"
#include "io/udp_socket.h"
#include "runtime/absence.h"
#include "runtime/host_share.h"
#include "runtime/member.h"
#include "runtime/network.h"
#include "runtime/switch_shard.h"

namespace infold::runtime {

class JobSession final : public Network {
 public:
  // What a member needs to take part.
  struct Seat {
    core::WorkerOptions worker;
    std::unique_ptr<io::DatagramPort> port;
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
                                                  const CallHistory& history, Seat& seat);
  ~JobSession() override;  // leaves

  void note_end(const core::Abort& abort) override;
  // Calls the listener from other threads, until the session's end.
  void watch(const Listener& listener);

 private:
  struct Link {
    std::unique_ptr<control::JobLink> link;
    std::uint8_t first_site = 0;
  };

  JobSession(const JoinOptions& options, const CallHistory& history)
      : options_(options), history_(history) {}
  Result<void> run(Seat& seat);
  Result<void> choose_route();
  Result<void> open_sockets();
  Result<void> meet_all(const std::vector<std::string>& addresses);
  Result<void> find_sites(Seat& seat);
  Result<void> take_seat(Seat& seat);
  bool meet_host(const core::WorkerOptions& worker);
  std::unique_ptr<io::DatagramPort> summing_port(core::WorkerOptions& worker);
  Result<void> probe_sites(std::size_t datagram_bytes);
  Result<void> all_ready(const control::ReadyWords& words);
  // A link that fails ends the wait at all others, so that the ranks that meet there hear of it.
  template <typename Answer>
  Answer or_stop(Answer answer) {
    if (!answer) joining_.request_stop();
    return answer;
  }
  std::uint8_t party_at(std::size_t site) const;
  void place_at_sites(core::WorkerOptions& worker) const;
  void place_on_one_host(core::WorkerOptions& worker) const;
  io::MeetingTerms meeting_terms(const core::WorkerOptions& worker, bool one_host) const;
  void lead(const core::WorkerOptions& worker, const control::HostGroup& group);
  const control::JobTerms& terms() const { return links_.front().link->terms(); }
  bool is_one_host() const { return control::is_one_host(terms().groups, terms().world); }
  control::RankWords words() const;
  bool sums_itself() const { return options_.sites != Sites::switches; }

  JoinOptions options_;
  CallHistory history_;
  std::stop_source joining_;
  io::Route route_;
  std::uint32_t datagram_bytes_max_ = 0;
  std::unique_ptr<io::UdpSocket> socket_;
  std::vector<io::SocketAddress> site_addresses_;
  std::unique_ptr<HostShare> share_;  // null: this rank shares no memory
  std::unique_ptr<SwitchShard> shard_;
  std::unique_ptr<control::Registrar> registrar_;
  std::unique_ptr<control::ControlServer> server_;
  std::vector<Link> links_;
  std::optional<core::Abort> end_;  // what the others are to hear of it
};

}  // namespace infold::runtime
