// SPDX-License-Identifier: Apache-2.0
//
// A job number that returns: the earlier job's packets, and the node that sends them again while
// the next job with that number runs. The earlier job runs first, on a network of the same shape,
// so a real machine wrote each packet. Its header agrees with the headers of the next job's
// packets, but its elements differ.
#pragma once

#include <vector>

#include "base/prng.h"
#include "study/sim/network/network.h"
#include "study/sim/scenario/scenario.h"

namespace infold::sim {

class Replayer final : public Node {
 public:
  // Runs the earlier job. `network` has all paths of the scenario's job.
  Replayer(const Scenario& scenario, const Network& network);

  void handle_packet(base::Instant, Parcel parcel, Outlet& outlet) override {
    outlet.packets().release(parcel.packet);
  }
  void handle_timeout(base::Instant now, Outlet& outlet) override;
  base::Instant next_timeout() const override {
    return left_ == 0 ? base::Instant::never() : next_at_;
  }

 private:
  struct Datagram {
    PathId path = 0;
    std::vector<std::byte> bytes;
  };
  std::size_t next_datagram();

  base::Prng random_;
  std::vector<Datagram> datagrams_;  // in the order of sending
  std::uint32_t left_;
  std::uint32_t left_in_order_;
  base::Duration gap_max_;
  base::Instant next_at_;
};

}  // namespace infold::sim
