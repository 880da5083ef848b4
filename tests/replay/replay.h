// SPDX-License-Identifier: Apache-2.0
//
// Gives the C++ aggregator and the packet program the packets that arrive at the aggregators of a
// simulated network. Both must send the same packets and give the same verdicts. Some of the
// simulation's aggregators are followed, each as a job with its own number in one program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/prng.h"
#include "core/aggregator/aggregator.h"
#include "study/sim/simulation.h"
#include "tests/conformance/planes/xdp_plane.h"

namespace infold::replay {

struct ReplayCounters {
  std::uint64_t packets = 0;
  std::uint64_t damaged = 0;
  std::uint64_t hostile = 0;
  std::map<std::string, std::uint64_t> verdicts;
};

// An aggregator of each kind for every job, and packets for both.
class SideBySide {
 public:
  SideBySide(conformance::XdpPlane& plane, ReplayCounters& counters)
      : plane_(plane), counters_(counters) {
    plane_.remove_all();
  }

  void add(const core::AggregatorOptions& options);
  // Without `is_summed`, the aggregator would sum the datagram, and the packet program only counts
  // it.
  void deliver(std::span<const std::byte> datagram, bool is_summed = true);
  // Delivers the datagram in a frame whose checksum is wrong.
  void deliver_damaged(std::span<const std::byte> datagram);
  // The packets that the packet program sent for the last packet.
  const std::vector<conformance::Outgoing>& sent() const { return sent_; }
  // The first difference, which is empty while there is none.
  const std::string& difference() const { return difference_; }

 private:
  conformance::XdpPlane& plane_;
  ReplayCounters& counters_;
  std::map<std::uint16_t, core::Aggregator> aggregators_;  // by job number
  std::map<std::uint16_t, core::AggregatorOptions> jobs_;
  std::map<std::uint16_t, std::size_t> apart_;  // workers that the packets of a job are listed for
  std::vector<conformance::Outgoing> sent_;
  std::string difference_;
};

class Replay final : public sim::Observer {
 public:
  // `hostile`: now and then an altered copy follows a packet.
  Replay(const sim::Scenario& scenario, const sim::Wiring& wiring, conformance::XdpPlane& plane,
         bool hostile, ReplayCounters& counters);

  const std::string& difference() const { return both_.difference(); }

  void on_send(base::Instant, const sim::Path&, std::span<const std::byte>,
               std::uint64_t) override {}
  void on_arrival(base::Instant now, const sim::Path& path,
                  std::span<const std::byte> bytes) override;
  void on_drop(base::Instant now, const sim::Path& path, std::span<const std::byte> bytes,
               sim::DropCause cause) override;

 private:
  SideBySide both_;
  bool hostile_;
  bool has_trees_;
  core::FloatTypes types_;  // that the program sums as native, if there are no trees
  ReplayCounters& counters_;
  base::Prng random_;
  std::vector<std::optional<std::size_t>> followed_;  // by node: index, which shifts job numbers
};

// Replays one drawn scenario, fitted to the sizes of the loaded program. Returns the first
// difference.
std::string replay_seed(std::uint64_t seed, conformance::XdpPlane& plane, ReplayCounters& counters);

// Replays contributions that no honest rank makes: lanes and exponents with extreme values.
std::string replay_extremes(std::uint64_t seed, conformance::XdpPlane& plane,
                            ReplayCounters& counters);

// Replays native floats that are hard to sum.
std::string replay_floats(std::uint64_t seed, conformance::XdpPlane& plane,
                          ReplayCounters& counters);

// Replays chunks of which only the contributors and the askers matter.
std::string replay_missing(std::uint64_t seed, conformance::XdpPlane& plane,
                           ReplayCounters& counters);

}  // namespace infold::replay
