// SPDX-License-Identifier: Apache-2.0
//
// The path from a rack's switch to its parent, as the join server sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "join/registrar.h"

namespace infold::join {

class Uplink {
 public:
  virtual ~Uplink() = default;
  // Returns the largest datagram that this host would send to the parent, or a refusal if no route
  // leads there.
  virtual Answer<std::uint32_t> datagram_bytes_max() const = 0;
  // Returns whether datagrams of this size reach these sites and come back. Blocks for a few
  // seconds at most.
  virtual Answer<void> reach(const std::vector<std::string>& sites,
                             std::uint32_t datagram_bytes) = 0;
};

}  // namespace infold::join
