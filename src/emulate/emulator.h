// SPDX-License-Identifier: Apache-2.0
//
// A whole emulator: the control plane that real ranks join at, the sockets of their packets, and
// the thread that moves the packets of all emulated parties when their time has come.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "control/registry/plane.h"
#include "control/service/control_server.h"
#include "emulate/emulated_ranks.h"
#include "emulate/emulation.h"
#include "emulate/options.h"
#include "emulate/portal_server.h"
#include "io/address/socket_address.h"
#include "site/serve_loop.h"

namespace infold::emulate {

class Emulator final : public Emulation, public control::Plane {
 public:
  // The error says why an address cannot be used. Requires: 1 <= real < ranks; the placement has no
  // fault (emulate/placement.h).
  static Started<std::unique_ptr<Emulator>> start(const EmulationOptions& options);
  ~Emulator() override;

  io::SocketAddress address() const override { return address_; }
  EmulationReport report() override;

  std::vector<control::SiteAddress> sites() const override { return sites_of(0); }
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t datagram_bytes_max() const override;
  control::Answer<void> start_job(const control::JobTerms& terms) override;
  void end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;
  bool wants_transfers() const override { return true; }
  void note_call(std::uint16_t job, const control::CallNote& note) override;

 private:
  Emulator(const EmulationOptions& options, std::unique_ptr<PortalServer> portals);

  Started<void> listen();
  std::vector<control::SiteAddress> sites_of(std::uint32_t real_rank) const;
  std::optional<control::Refusal> find_obstacle(const control::JobTerms& terms) const;

  const EmulationOptions options_;
  const std::unique_ptr<PortalServer> portals_;
  const io::SocketAddress address_;
  std::unique_ptr<site::ServeLoop> loop_;
  std::unique_ptr<EmulatedRanks> ranks_;
  std::unique_ptr<control::ControlServer> control_;
};

}  // namespace infold::emulate
