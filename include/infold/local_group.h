// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a job inside one process. An embedded aggregator joins them over an in-memory
// network, which can lose, repeat and reorder packets on request. For trying infold out, for tests,
// and for programs whose workers are threads. The communicators behave like those of a real
// network.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <infold/communicator.h>
#include <infold/options.h>
#include <infold/result.h>

namespace infold {

namespace rank {
class LocalNetwork;
class Member;
}  // namespace rank

// The faults of the network, for each packet on each link. A seed makes the choices repeatable as
// far as threads allow. Probabilities are in [0, 0.9].
struct NetworkFaults {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;
  std::uint64_t seed = 1;
};

struct LocalGroupOptions {
  int world = 1;  // 1 to 1024 ranks; more than 256 need racks
  // One aggregator per entry, 1 to 64. Each sums its weight's share of every tensor (1 to 64).
  std::vector<int> site_weights = {1};
  // 0: every rank sends to the aggregators directly. Otherwise ranks are put in racks of this size
  // (2 to 256), each with an aggregator below the site's own.
  int rack_size = 0;
  NetworkFaults faults = {};
  bool verify = false;   // as JoinOptions::verify
  int mtu_bytes = 1500;  // of the pretended network, IPv6 and UDP headers included; 1280 to 9216
  WireFormat wire = WireFormat::automatic;                       // for calls that leave it open
  std::chrono::nanoseconds deadline = std::chrono::seconds(10);  // likewise; more than zero
};

// Packets on all links together, since the group was made.
struct NetworkStatistics {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;  // by NetworkFaults
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t overflowed = 0;  // lost because a queue was full
};

class LocalGroup {
 public:
  // Starts world + 1 threads. Fails with out_of_range naming the option, or resource_exhausted.
  static Result<LocalGroup> create(const LocalGroupOptions& options);

  LocalGroup(LocalGroup&& other) noexcept;
  LocalGroup& operator=(LocalGroup&& other) noexcept;
  ~LocalGroup();  // of all communicators that have not been moved out

  // The communicator of a rank. It may be moved out, and then lives as long as its new owner. For a
  // number out of range, a communicator without a job.
  Communicator& operator[](int rank);
  int world() const;
  NetworkStatistics network() const;

 private:
  LocalGroup();
  std::shared_ptr<rank::LocalNetwork> network_;
  std::vector<std::shared_ptr<rank::Member>> members_;  // for their counts
  std::vector<Communicator> communicators_;
  Communicator none_;
};

}  // namespace infold
