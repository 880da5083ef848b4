// SPDX-License-Identifier: Apache-2.0
//
// The sockets of emulated switches, where real ranks send their packets, and the jobs behind them.
// Each switch that a real rank is directly below has a socket for each site. One thread uses all of
// it: a ServeLoop's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "control/registrar.h"
#include "emulate/emulated_job.h"
#include "emulate/options.h"
#include "emulate/placement.h"
#include "io/address/socket_address.h"
#include "io/host/ready_set.h"
#include "io/udp/path_probe.h"
#include "io/udp/udp_socket.h"
#include "site/serve_loop.h"

namespace infold::emulate {

// Jumbo frames, as a switch takes them.
inline constexpr std::uint32_t kDatagramBytesMax = 8972;

struct EmulationReport {
  JobCounters counters;  // of all jobs
  Lateness lateness;     // likewise
};

class PortalServer final : public site::PacketServer {
 public:
  // The first socket is at the address to listen at, the others at the ports behind it. The error
  // says why an address cannot be used.
  static base::Result<std::unique_ptr<PortalServer>> open(const EmulationOptions& options);

  // Of the switch that the rank is below, by site. Any thread.
  std::vector<io::SocketAddress> addresses_of(std::uint32_t real_rank) const;

  void add(std::unique_ptr<EmulatedJob> job, const control::JobTerms& terms);
  // Where a job's packets for real ranks go.
  EmulatedJob::Deliver deliver_to(std::uint16_t number);
  EmulatedJob* find(std::uint16_t number);
  void remove(std::uint16_t number);
  EmulationReport report() const;
  void flush();

  std::size_t serve() override;
  bool last_was_small() const override { return false; }
  void wait(base::Instant deadline) override;
  void wake() override { sockets_.front().wake(); }

 private:
  using Address = std::array<io::SocketAddress, 1>;
  struct Job {
    std::unique_ptr<EmulatedJob> network;
    std::vector<io::SocketAddress> sources;  // by rank; unset: any host
    // By real rank and site, from the rank's packets: a rank may have a socket for each site.
    std::vector<std::vector<Address>> addresses;
    // By socket: the real ranks, by their numbers as workers there.
    std::vector<std::map<std::uint8_t, std::uint16_t>> ranks;
  };

  PortalServer(RealSwitches switches, std::size_t sites, std::vector<io::UdpSocket> sockets,
               io::ReadySet ready);
  std::size_t socket_of(std::uint16_t real_rank, std::size_t site) const {
    return switches_.of_rank[real_rank] * sites_ + site;
  }
  void deliver(std::uint16_t number, std::uint16_t rank, std::uint8_t site,
               std::span<const std::byte> datagram);
  void run_jobs(base::Instant now);
  std::size_t receive(std::size_t socket);
  void take(base::Instant now, std::size_t socket, const io::UdpSocket::Arrival& arrival);

  const RealSwitches switches_;
  const std::size_t sites_;
  std::vector<io::UdpSocket> sockets_;  // of the first switch, then of the next
  io::ReadySet ready_;
  std::map<std::uint16_t, Job> jobs_;
  EmulationReport past_;  // of removed jobs
  io::ProbeEcho echo_;
};

}  // namespace infold::emulate
