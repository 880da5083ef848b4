// SPDX-License-Identifier: Apache-2.0
//
// A few real ranks beside an emulated job, in virtual time. The product's workers exchange packets
// with the network that infold emulate uses. It does not include what an emulator's clock and
// sockets add.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "study/emulate/emulated_job.h"
#include "study/sim/network/network.h"
#include "study/sim/nodes/worker_node.h"
#include "study/whatif/calls/calls.h"

namespace infold::reproduce {

class BesideEmulator final : public whatif::Calls {
 public:
  // The first `real` ranks of the setting are real. Requires: 1 <= real < ranks, and sums in the
  // path.
  BesideEmulator(const whatif::Setting& setting, std::uint16_t real);
  ~BesideEmulator() override;

  void begin(base::Instant now, const whatif::RankCall& call,
             const trace::CallShape& shape) override;
  base::Instant run(base::Instant limit, std::vector<whatif::RankCall>& ended) override;

  // Returns why the emulated ranks cannot make a call, or an empty text if they make all calls.
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
  sim::Network network_;  // the hosts of the real ranks, without links
  std::vector<Rank> ranks_;
  std::vector<whatif::RankCall> ended_;
  std::string fault_;
  emulate::EmulatedJob job_;
};

}  // namespace infold::reproduce
