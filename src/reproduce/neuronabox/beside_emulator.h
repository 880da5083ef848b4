// SPDX-License-Identifier: Apache-2.0
//
// A few real ranks beside an emulated job, in virtual time: the product's workers exchange packets
// with infold emulate's own network. What an emulator's clock and sockets add is not in it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "emulate/emulated_job.h"
#include "sim/network/network.h"
#include "sim/nodes/worker_node.h"
#include "whatif/calls/calls.h"

namespace infold::reproduce {

class BesideEmulator final : public whatif::Calls {
 public:
  // The first `real` ranks of the setting's are real. Requires: 1 <= real < ranks, sums in the
  // path.
  BesideEmulator(const whatif::Setting& setting, std::uint16_t real);
  ~BesideEmulator() override;

  void begin(base::Instant now, const whatif::RankCall& call,
             const trace::CallShape& shape) override;
  base::Instant run(base::Instant limit, std::vector<whatif::RankCall>& ended) override;

  // Why the emulated ranks do not make a call; empty: they make all.
  const std::string& fault() const { return fault_; }

 private:
  class Gate;
  struct Rank {
    sim::WorkerNode* node = nullptr;
    sim::NodeId id = 0;
    sim::PathId from_emulator = 0;
  };

  void add_rank(std::uint16_t rank, const plan::Plan& plan);
  void note(base::Instant now, const std::vector<core::TransferRequest>& transfers);
  void deliver(std::uint16_t rank, std::span<const std::byte> datagram);

  const whatif::Setting setting_;
  sim::Network network_;  // of the real ranks: their hosts, without links
  std::vector<Rank> ranks_;
  std::vector<whatif::RankCall> ended_;
  std::string fault_;
  emulate::EmulatedJob job_;
};

}  // namespace infold::reproduce
