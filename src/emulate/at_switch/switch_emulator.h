// SPDX-License-Identifier: Apache-2.0
//
// An emulator before a real switch: the control plane that real ranks join at, which passes them on
// to the switch, and emulated ranks with sockets of their own, on one thread. Real ranks send their
// packets to the switch themselves, and where ranks sum to the sites of all ranks.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "control/service/control_server.h"
#include "emulate/at_switch/rank_server.h"
#include "emulate/at_switch/switch_relay.h"
#include "emulate/emulation.h"
#include "emulate/options.h"
#include "site/serve_loop.h"

namespace infold::emulate {

class SwitchEmulator final : public Emulation, public RankPlane {
 public:
  // The error says why an address cannot be used. Requires: 1 <= real < ranks; a real switch is
  // set, which need not run yet.
  static Started<std::unique_ptr<SwitchEmulator>> start(const EmulationOptions& options);
  ~SwitchEmulator() override;

  io::SocketAddress address() const override { return control_->address(); }
  EmulationReport report() override;

  control::Answer<void> start_job(const control::JobTerms& terms) override;
  void forget_job(std::uint16_t job) override;
  void note_call(std::uint16_t job, const control::CallNote& note) override;

 private:
  SwitchEmulator(const EmulationOptions& options, std::unique_ptr<RankServer> ranks);

  const EmulationOptions options_;
  const std::unique_ptr<RankServer> server_;
  std::unique_ptr<site::ServeLoop> loop_;
  std::unique_ptr<SwitchRelay> relay_;
  std::unique_ptr<control::ControlServer> control_;
};

}  // namespace infold::emulate
