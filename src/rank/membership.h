// SPDX-License-Identifier: Apache-2.0
//
// Connects a rank to its job besides packets. Destroying this object leaves the job.
#pragma once

#include <cstdint>
#include <functional>

#include "core/packet/packet.h"
#include "join/transfer_note.h"

namespace infold::rank {

// Tells an emulator of this rank's transfers, in their order. Empty if nobody asks for them.
using TellCalls = std::function<void(const join::CallNote&)>;

class Membership {
 public:
  virtual ~Membership() = default;
  // Notes why this rank's calls failed, before the membership is destroyed. Packets may never tell
  // that to ranks that call later.
  virtual void note_end(const core::Abort& abort) = 0;
  // Notes that a site is gone, before the membership is destroyed. Packets may report that before
  // the connection does.
  virtual void note_site_lost(std::uint8_t site) = 0;
};

}  // namespace infold::rank
