// SPDX-License-Identifier: Apache-2.0
//
// Returns a datagram as a hostile rank may send it, with some bits changed and sometimes another
// length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/prng.h"
#include "wire/infold_wire.h"

namespace infold::sim {

inline std::vector<std::byte> altered(std::span<const std::byte> datagram, base::Prng& random) {
  std::vector<std::byte> copy(datagram.begin(), datagram.end());
  if (copy.empty()) return copy;
  for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
    // Most changes are in the header, which decides most.
    const std::size_t reach =
        random.chance(0.8) ? std::min<std::size_t>(copy.size(), INFOLD_HEADER_BYTES) : copy.size();
    copy[random.below(reach)] ^= static_cast<std::byte>(1U << random.below(8));
  }
  if (random.chance(0.2)) copy.resize(random.below(copy.size() + 8));
  return copy;
}

}  // namespace infold::sim
