// SPDX-License-Identifier: Apache-2.0
//
// The sockets of emulated ranks, each at a port of its own, where a real switch sends results. One
// thread: a ServeLoop's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "emulate/options.h"
#include "emulate/paced_server.h"
#include "io/address/socket_address.h"

namespace infold::emulate {

class RankServer final : public PacedServer {
 public:
  // At this host's address on the way to the switch. The error says why there is none.
  static Started<std::unique_ptr<RankServer>> open(const EmulationOptions& options);

  void add(std::unique_ptr<EmulatedJob> job, std::uint16_t number,
           const std::vector<io::SocketAddress>& sites);
  // Where a job's packets for the sites go.
  EmulatedJob::Deliver deliver_to(std::uint16_t number);

 private:
  using Address = std::array<io::SocketAddress, 1>;

  RankServer(std::uint32_t real, Sockets sockets) : PacedServer(std::move(sockets)), real_(real) {}

  void deliver(std::uint16_t number, Way way, std::span<const std::byte> datagram);
  void take(base::Instant now, std::size_t index, const io::UdpSocket::Arrival& arrival) override;
  void forget(std::uint16_t number) override { sites_.erase(number); }

  const std::uint32_t real_;                             // the first emulated rank
  std::map<std::uint16_t, std::vector<Address>> sites_;  // by the number of their job
};

}  // namespace infold::emulate
