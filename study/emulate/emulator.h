// SPDX-License-Identifier: Apache-2.0
//
// A whole emulator: the join server for real ranks, the sockets for their packets, and the thread
// that moves the packets of all emulated parties when their time has come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/address/socket_address.h"
#include "join/registry/plane.h"
#include "join/service/join_server.h"
#include "site/serve_loop.h"
#include "study/emulate/emulated_ranks.h"
#include "study/emulate/emulation.h"
#include "study/emulate/options.h"
#include "study/emulate/portal_server.h"

namespace infold::emulate {

class Emulator final : public Emulation, public join::Plane {
 public:
  // An error says why an address cannot be used. Requires: 1 <= real < ranks, and a shape without
  // faults (study/emulate/job_shape.h).
  static Started<std::unique_ptr<Emulator>> start(const EmulationOptions& options);
  ~Emulator() override;

  io::SocketAddress address() const override { return address_; }
  EmulationReport report() override;

  std::vector<join::SiteAddress> sites() const override { return sites_of(0); }
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t datagram_bytes_max() const override;
  join::Answer<void> start_job(const join::JobTerms& terms) override;
  std::optional<core::Abort> end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;
  bool wants_transfers() const override { return true; }
  void note_call(std::uint16_t job, const join::CallNote& note) override;

 private:
  Emulator(const EmulationOptions& options, std::unique_ptr<PortalServer> portals);

  Started<void> listen();
  std::vector<join::SiteAddress> sites_of(std::uint32_t real_rank) const;
  std::optional<join::Refusal> find_obstacle(const join::JobTerms& terms) const;

  const EmulationOptions options_;
  const std::unique_ptr<PortalServer> portals_;
  const io::SocketAddress address_;
  std::unique_ptr<site::ServeLoop> loop_;
  std::unique_ptr<EmulatedRanks> ranks_;
  std::unique_ptr<join::JoinServer> join_server_;
};

}  // namespace infold::emulate
