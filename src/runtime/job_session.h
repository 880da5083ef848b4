// SPDX-License-Identifier: Apache-2.0
//
// What keeps a rank in its job besides its member: the links to the control planes, its own
// aggregator where ranks sum for each other, and, at rank 0 of such a job, the place where they
// meet.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <infold/join_options.h>
#include <infold/result.h>

#include "control/control_server.h"
#include "control/job_link.h"
#include "core/worker.h"
#include "io/datagram_port.h"
#include "runtime/switch_shard.h"

namespace infold::runtime {

class JobSession {
 public:
  // What a member needs to take part.
  struct Seat {
    core::WorkerOptions worker;
    std::unique_ptr<io::DatagramPort> port;
    std::vector<std::string> site_names;  // their addresses, for errors
  };
  struct Listener {
    std::function<void(std::uint32_t rank)> on_rank_lost;
    std::function<void(std::uint8_t site)> on_site_lost;
  };

  // Requires options that complete_from_environment() has returned. Blocks until all ranks have
  // come and are ready, or for options.deadline.
  static Result<std::unique_ptr<JobSession>> join(const JoinOptions& options, Seat& seat);
  ~JobSession();  // leaves

  // Calls the listener from other threads, until the session's end.
  void watch(const Listener& listener);

 private:
  struct Link {
    std::unique_ptr<control::JobLink> link;
    std::uint8_t first_site = 0;
  };

  explicit JobSession(const JoinOptions& options) : options_(options) {}
  Result<void> run(Seat& seat);
  Result<void> open_sockets();
  Result<void> meet(const std::string& address);
  Result<void> take_seat(Seat& seat);
  control::RankWords words(std::uint32_t datagram_bytes_max) const;
  bool sums_itself() const { return options_.sites != Sites::switches; }

  JoinOptions options_;
  io::SocketAddress local_;
  std::uint32_t datagram_bytes_max_ = 0;
  std::unique_ptr<io::UdpSocket> socket_;
  std::unique_ptr<SwitchShard> shard_;
  std::unique_ptr<control::JobRegistry> registry_;
  std::unique_ptr<control::ControlServer> server_;
  std::vector<Link> links_;
};

}  // namespace infold::runtime
