// SPDX-License-Identifier: Apache-2.0
//
// An emulator in front of a real switch. It has a join server, which passes real ranks on to the
// switch, and emulated ranks with sockets of their own, all on one thread. Real ranks send their
// packets directly to the switch, and to the sites of all ranks if ranks sum.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "join/service/join_server.h"
#include "site/serve_loop.h"
#include "study/emulate/at_switch/rank_server.h"
#include "study/emulate/at_switch/switch_relay.h"
#include "study/emulate/emulation.h"
#include "study/emulate/options.h"

namespace infold::emulate {

class SwitchEmulator final : public Emulation, public RankPlane {
 public:
  // An error says why an address cannot be used. Requires: 1 <= real < ranks, and real_switch is
  // set. The switch need not run yet.
  static Started<std::unique_ptr<SwitchEmulator>> start(const EmulationOptions& options);
  ~SwitchEmulator() override;

  io::SocketAddress address() const override { return join_server_->address(); }
  EmulationReport report() override;

  join::Answer<void> start_job(const join::JobTerms& terms) override;
  void forget_job(std::uint16_t job) override;
  void note_call(std::uint16_t job, const join::CallNote& note) override;

 private:
  SwitchEmulator(const EmulationOptions& options, std::unique_ptr<RankServer> ranks);

  const EmulationOptions options_;
  const std::unique_ptr<RankServer> server_;
  std::unique_ptr<site::ServeLoop> loop_;
  std::unique_ptr<SwitchRelay> relay_;
  std::unique_ptr<join::JoinServer> join_server_;
};

}  // namespace infold::emulate
