// SPDX-License-Identifier: Apache-2.0
//
// What connects a member to its job besides packets, kept until the member has left. Its end is the
// leave.
#pragma once

#include <cstdint>

#include "core/packet/packet.h"

namespace infold::rank {

class Network {
 public:
  virtual ~Network() = default;
  // Why this rank's calls failed, for ranks that packets may never tell. Before the end.
  virtual void note_end(const core::Abort& abort) = 0;
  // A site is gone, which packets may tell before the connection does. Before the end.
  virtual void note_site_lost(std::uint8_t site) = 0;
};

}  // namespace infold::rank
