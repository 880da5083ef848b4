// SPDX-License-Identifier: Apache-2.0
//
// Packets that do not belong to the job: from the same job before it was set up again, from a later
// epoch, and from other jobs on the network. Real machines wrote them, so only job and epoch
// distinguish them from the job's own.
#pragma once

#include <vector>

#include "base/prng.h"
#include "study/sim/network/node.h"
#include "study/sim/scenario/scenario.h"

namespace infold::sim {

class StaleSender final : public Node {
 public:
  // `up` and `down` are paths of the job. The packets are sent along them.
  StaleSender(const Scenario& scenario, std::vector<PathId> up, std::vector<PathId> down);

  void handle_packet(base::Instant, Parcel parcel, Outlet& outlet) override {
    outlet.packets().release(parcel.packet);
  }
  void handle_timeout(base::Instant now, Outlet& outlet) override;
  base::Instant next_timeout() const override {
    return left_ == 0 ? base::Instant::never() : next_at_;
  }

 private:
  using Datagrams = std::vector<std::vector<std::byte>>;
  void record(const Scenario& scenario, std::uint16_t job, std::uint32_t epoch);

  base::Prng random_;
  std::vector<PathId> up_;
  std::vector<PathId> down_;
  Datagrams contributions_;
  Datagrams results_;
  std::uint32_t left_;
  base::Instant next_at_;
};

}  // namespace infold::sim
