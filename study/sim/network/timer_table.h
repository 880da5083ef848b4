// SPDX-License-Identifier: Apache-2.0
//
// One deadline per node, and the earliest of all, as a tournament tree. Setting a deadline costs a
// walk towards the root, which stops where nothing changes. Among equal deadlines, the lowest node
// comes first.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/instant.h"

namespace infold::sim {

class TimerTable {
 public:
  explicit TimerTable(std::uint32_t node_count)
      : leaves_(std::bit_ceil(node_count | 1U)), earliest_(2 * leaves_, base::Instant::never()) {}

  base::Instant at(std::uint32_t node) const { return earliest_[leaves_ + node]; }
  base::Instant earliest() const { return earliest_[1]; }

  // Returns the node with the earliest deadline. Requires: earliest() is not never().
  std::uint32_t earliest_node() const {
    std::uint32_t place = 1;
    while (place < leaves_) {
      place *= 2;
      if (earliest_[place] != earliest_[1]) ++place;
    }
    return place - leaves_;
  }

  void set(std::uint32_t node, base::Instant deadline) {
    std::uint32_t place = leaves_ + node;
    while (earliest_[place] != deadline) {
      earliest_[place] = deadline;
      if (place == 1) return;
      const base::Instant rival = earliest_[place ^ 1U];
      if (rival < deadline) deadline = rival;
      place /= 2;
    }
  }

 private:
  std::uint32_t leaves_;
  std::vector<base::Instant> earliest_;  // a heap-shaped tree; [1] is the root
};

}  // namespace infold::sim
