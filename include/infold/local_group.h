// SPDX-License-Identifier: Apache-2.0
//
// A local group has all ranks of a job in one process. Embedded aggregators connect them over an
// in-memory network, which can lose, repeat and reorder packets on request. Use it to try infold
// out, in tests, and in programs whose workers are threads. The communicators behave like those of
// a real network.
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

// Faults of the network, as probabilities in [0, 0.9] for each packet on each link. The seed makes
// them repeatable as far as the timing of threads allows.
struct NetworkFaults {
  double loss = 0;
  double duplication = 0;
  double reordering = 0;
  std::uint64_t seed = 1;
};

struct LocalGroupOptions {
  int world = 1;  // 1 to 1024 ranks; more than 256 need racks
  // One aggregator per entry, 1 to 64 of them. Each sums a share of every tensor by its weight, 1
  // to 64.
  std::vector<int> site_weights = {1};
  // 0: every rank sends to the aggregators directly. Otherwise the ranks form racks of this size (2
  // to 256), and each rack has an aggregator below the site's own.
  int rack_size = 0;
  NetworkFaults faults = {};
  bool verify = false;   // like JoinOptions::verify
  int mtu_bytes = 1500;  // the simulated network's MTU, with IPv6 and UDP headers; 1280 to 9216
  WireFormat wire = WireFormat::automatic;                       // for calls that leave it open
  std::chrono::nanoseconds deadline = std::chrono::seconds(10);  // more than zero
};

// Packets on all links together since the group was made.
struct NetworkStatistics {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;  // by NetworkFaults
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t overflowed = 0;  // lost because a queue was full
};

class LocalGroup {
 public:
  // Starts world + 1 threads. Fails with out_of_range, which names the option, or with
  // resource_exhausted.
  static Result<LocalGroup> create(const LocalGroupOptions& options);

  LocalGroup(LocalGroup&& other) noexcept;
  LocalGroup& operator=(LocalGroup&& other) noexcept;
  ~LocalGroup();  // destroys the communicators that have not been moved out

  // Returns the communicator of a rank. It may be moved out, and then lives as long as its new
  // owner. For a number out of range, this returns a communicator without a job.
  Communicator& operator[](int rank);
  int world() const;
  NetworkStatistics network() const;

 private:
  LocalGroup();
  std::shared_ptr<rank::LocalNetwork> network_;
  std::vector<std::shared_ptr<rank::Member>> members_;  // for their statistics
  std::vector<Communicator> communicators_;
  Communicator none_;
};

}  // namespace infold
