// SPDX-License-Identifier: Apache-2.0
//
// The way from a rack's switch up to its parent, as the join server sees it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "join/registrar.h"

namespace infold::join {

class Uplink {
 public:
  virtual ~Uplink() = default;
  // The largest datagram that this host would send there; a refusal where no route leads there.
  virtual Answer<std::uint32_t> datagram_bytes_max() const = 0;
  // Whether datagrams of this size reach these sites and come back. Blocks for seconds at most.
  virtual Answer<void> reach(const std::vector<std::string>& sites,
                             std::uint32_t datagram_bytes) = 0;
};

}  // namespace infold::join
