// SPDX-License-Identifier: Apache-2.0
//
// Decides which hosts a job's workers get. A host has places for workers of several jobs, but runs
// at most one worker of each job. Plain bookkeeping.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace infold::mix {

enum class Strategy : std::uint8_t {
  packed,  // in the fullest rack that has room for all, or else in as few racks as possible
  spread,  // over all racks in turn, the emptiest first
};

class WorkerHosts {
 public:
  struct Options {
    std::uint16_t racks = 1;
    std::uint16_t hosts_per_rack = 1;
    std::uint16_t places_per_host = 1;
    Strategy strategy = Strategy::packed;
  };

  explicit WorkerHosts(const Options& options);

  // Takes a place on one host per worker and returns the hosts, rack by rack. Returns nothing, and
  // takes nothing, if too few hosts have a free place.
  std::optional<std::vector<std::uint16_t>> place(std::uint16_t workers);
  void free(const std::vector<std::uint16_t>& hosts);

 private:
  // Returns a rack's hosts that have a free place, the emptiest host first.
  std::vector<std::uint16_t> open_hosts(std::uint16_t rack) const;

  Options options_;
  std::vector<std::uint16_t> free_;  // free places, by host
};

}  // namespace infold::mix
