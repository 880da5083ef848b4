// SPDX-License-Identifier: Apache-2.0
//
// A rank's membership of its job: what connects the rank to the job besides packets. Destroying it
// leaves the job.
#pragma once

#include <cstdint>
#include <functional>

#include "control/transfer_note.h"
#include "core/packet/packet.h"

namespace infold::rank {

// Tells an emulator of this rank's transfers, in their order. Empty: nobody asks.
using TellCalls = std::function<void(const control::CallNote&)>;

class Membership {
 public:
  virtual ~Membership() = default;
  // Before it is destroyed: why this rank's calls failed. Packets may never tell that to ranks
  // which call later.
  virtual void note_end(const core::Abort& abort) = 0;
  // Before it is destroyed: a site is gone. Packets may tell that before the connection does.
  virtual void note_site_lost(std::uint8_t site) = 0;
};

}  // namespace infold::rank
