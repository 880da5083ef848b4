// SPDX-License-Identifier: Apache-2.0
//
// Keeps a rank in its job, besides its member. It takes the steps of joining in their order and
// owns their results: the route of packets, the links to the join servers, and the rank's part in
// the memory of its host. It also owns the rank's site if ranks sum for each other, and the
// rendezvous at rank 0 of a job without a switch.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infold/join_options.h>
#include <infold/result.h>

#include "core/worker/worker.h"
#include "io/endpoint.h"
#include "io/udp/udp_socket.h"
#include "rank/drivers/driver_set.h"
#include "rank/member.h"
#include "rank/membership.h"
#include "rank/rejoiner.h"
#include "rank/session/host/host_share.h"
#include "rank/session/host_links.h"
#include "rank/session/path/own_site.h"
#include "rank/session/path/packet_route.h"
#include "rank/session/rendezvous.h"
#include "rank/session/site_table.h"

namespace infold::rank {

class JobSession final : public Membership {
 public:
  // The result of joining, for the rank's member.
  struct Setup {
    core::WorkerOptions worker;
    std::vector<DrivenSites> shares;
    std::vector<std::string> site_names;  // their addresses, for errors
    Paths paths;
    TellCalls tell = {};
  };
  struct Listener {
    std::function<void(std::uint32_t rank)> on_rank_lost;
    // `lost_switch` is the lost switch's address, or empty if that is the site's address.
    std::function<void(std::uint8_t site, const std::string& lost_switch)> on_site_lost;
    std::function<void(const core::Abort& abort)> on_end;  // reported by a rank that has left
  };

  // Requires: complete_from_environment() has returned these options. Blocks until all ranks have
  // come and are ready, at most for options.deadline.
  static Result<std::unique_ptr<JobSession>> join(const JoinOptions& options,
                                                  const CallHistory& history, Setup& setup);
  ~JobSession() override;  // leaves

  void note_end(const core::Abort& abort) override;
  void note_site_lost(std::uint8_t site) override;
  // Calls the listener from other threads until the session is destroyed.
  void watch(const Listener& listener);

 private:
  explicit JobSession(const JoinOptions& options);

  // The steps of joining, in this order.
  Result<void> find_hosts();
  Result<void> find_rendezvous();
  Result<void> open_sockets();
  Error cannot_send(const base::Error& error) const;  // for sockets of these steps
  Result<void> open_rendezvous();
  Result<void> meet();
  Result<void> settle_terms(const CallHistory& history);
  Result<void> open_driver_sockets();
  void set_up(Setup& setup);

  Result<void> run(const CallHistory& history, Setup& setup);
  join::Hello hello() const;
  bool meet_host();
  core::WorkerOptions worker_options() const;
  io::UdpOptions udp_options() const;
  std::uint32_t driver_count() const;
  std::unique_ptr<io::UdpEndpoint> network_endpoint(io::UdpSocket socket);
  std::vector<DrivenSites> network_shares();
  Paths paths() const;
  const join::JobTerms& terms() const { return links_->terms(); }
  // Whether this rank reaches the sites itself, over the network.
  bool is_on_network() const { return !is_one_host() && group() == nullptr; }
  bool is_one_host() const { return join::is_one_host(terms().groups, terms().world); }
  // The group in use that this rank is in, or null.
  const join::HostGroup* group() const { return join::group_of(terms().groups, table_.rank); }
  bool leads(const join::HostGroup& group) const { return group.ranks.first == table_.rank; }
  void log_end(const join::JobEnd& end, const std::string& host);
  void log_switch_lost(const std::string& address);

  const JoinOptions options_;
  const base::Instant deadline_;        // for joining
  std::vector<HostLinks::Host> hosts_;  // the join servers
  PacketRoute route_;
  std::unique_ptr<io::UdpSocket> socket_;
  std::vector<io::UdpSocket> driver_sockets_;  // for drivers beyond the first
  SiteTable table_;
  std::unique_ptr<HostShare> share_;   // null: this rank shares no memory
  std::unique_ptr<OwnSite> own_site_;  // null: this rank does not sum for others
  std::optional<keys::RendezvousKeys> rendezvous_keys_;
  std::unique_ptr<Rendezvous> rendezvous_;
  std::optional<HostLinks> links_;
  std::optional<core::Abort> end_;  // what the other ranks are told when this one leaves
  std::atomic<bool> loss_is_logged_ = false;
};

}  // namespace infold::rank
