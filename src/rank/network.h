// SPDX-License-Identifier: Apache-2.0
//
// A member's connection to its job besides packets, kept until the member has left. Destroying it
// leaves the job.
#pragma once

#include <cstdint>

#include "core/packet/packet.h"

namespace infold::rank {

class Network {
 public:
  virtual ~Network() = default;
  // Why this rank's calls failed, for ranks that packets may not reach. Before it is destroyed.
  virtual void note_end(const core::Abort& abort) = 0;
  // A site is gone, as packets may say before the connection does. Before it is destroyed.
  virtual void note_site_lost(std::uint8_t site) = 0;
};

}  // namespace infold::rank
