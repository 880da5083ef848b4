// SPDX-License-Identifier: Apache-2.0
//
// Faults in one direction between two endpoints: loss (uniform or in bursts), duplication,
// reordering, damage and jitter. Each has its own probability, and one seed determines all of them.
// After `until` the node lets every packet pass, for the liveness phase of a run.
#pragma once

#include "base/prng.h"
#include "study/sim/network/node.h"

namespace infold::sim {

// Damage is a burst of at most this many bits. A UDP checksum always detects such a burst.
inline constexpr std::uint32_t kDamageBitsMax = 15;

struct FaultOptions {
  double loss = 0;
  double burst_start = 0;    // probability that a packet begins a burst of losses
  double burst_packets = 1;  // mean length of a burst
  double duplicate = 0;
  double reorder = 0;  // probability of being held back by up to reorder_max
  double corrupt = 0;
  base::Duration reorder_max;
  base::Duration jitter_max;  // for every packet; packets keep their order
  base::Instant until = base::Instant::never();

  bool any() const {
    return loss > 0 || burst_start > 0 || duplicate > 0 || reorder > 0 || corrupt > 0 ||
           jitter_max.ns > 0;
  }
};

class Faults final : public Node {
 public:
  Faults(const FaultOptions& options, std::uint64_t seed, NodeId self)
      : options_(options), random_(seed), self_(self) {}

  void handle_packet(base::Instant now, Parcel parcel, Outlet& outlet) override;
  void handle_timeout(base::Instant, Outlet&) override {}
  base::Instant next_timeout() const override { return base::Instant::never(); }

 private:
  bool lost_in_burst();
  // Makes a copy with a burst of damage. Other receivers of the same multicast keep the original.
  Parcel damaged(Parcel parcel, PacketPool& packets);
  base::Instant leaves_at(base::Instant now);

  FaultOptions options_;
  base::Prng random_;
  NodeId self_;
  bool in_burst_ = false;
  base::Instant last_left_;
};

}  // namespace infold::sim
