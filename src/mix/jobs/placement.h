// SPDX-License-Identifier: Apache-2.0
//
// Which hosts a job's workers get. A host has places for workers of several jobs, and at most one
// worker of a job. Plain bookkeeping.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace infold::mix {

enum class Strategy : std::uint8_t {
  packed,  // in one rack if one has room, the fullest such; else in as few racks as can be
  spread,  // over all racks in turn, the emptiest first
};

class Placement {
 public:
  struct Options {
    std::uint16_t racks = 1;
    std::uint16_t hosts_per_rack = 1;
    std::uint16_t places_per_host = 1;
    Strategy strategy = Strategy::packed;
  };

  explicit Placement(const Options& options);

  // Takes a place on so many hosts and returns these, rack by rack. Returns nothing, and takes
  // nothing, if too few hosts have a place.
  std::optional<std::vector<std::uint16_t>> place(std::uint16_t workers);
  void free(const std::vector<std::uint16_t>& hosts);

 private:
  // A rack's hosts with a free place, the emptiest host first.
  std::vector<std::uint16_t> open_hosts(std::uint16_t rack) const;

  Options options_;
  std::vector<std::uint16_t> free_;  // places, by host
};

}  // namespace infold::mix
