// SPDX-License-Identifier: Apache-2.0
//
// A whole emulator: the control plane that real ranks join at, the socket of their packets, and the
// thread that moves the packets of all emulated parties when their time has come.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "control/registry/plane.h"
#include "control/service/control_server.h"
#include "emulate/emulated_job.h"
#include "emulate/emulated_ranks.h"
#include "emulate/options.h"
#include "io/udp/udp_socket.h"
#include "site/serve_loop.h"

namespace infold::emulate {

struct EmulationReport {
  JobCounters counters;  // of all jobs
  Lateness lateness;     // likewise
};

class Emulator final : public control::Plane {
 public:
  // The error says why the address cannot be used. Requires: 1 <= real < ranks.
  static base::Result<std::unique_ptr<Emulator>> start(const EmulationOptions& options);
  ~Emulator() override;  // tells all jobs

  io::SocketAddress address() const { return address_; }
  EmulationReport report();

  std::vector<control::SiteAddress> sites() const override;
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t datagram_bytes_max() const override;
  control::Answer<void> start_job(const control::JobTerms& terms) override;
  void end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;
  bool wants_transfers() const override { return true; }
  void note_call(std::uint16_t job, const control::CallNote& note) override;

 private:
  class Server;
  Emulator(const EmulationOptions& options, io::UdpSocket socket);

  const EmulationOptions options_;
  const io::SocketAddress address_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<site::ServeLoop> loop_;
  std::unique_ptr<EmulatedRanks> ranks_;
  std::unique_ptr<control::ControlServer> control_;
};

}  // namespace infold::emulate
