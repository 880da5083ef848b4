// SPDX-License-Identifier: Apache-2.0
//
// What connects a member to its job besides packets, kept until the member has left. Its end is the
// leave.
#pragma once

#include "core/packet.h"

namespace infold::runtime {

class Network {
 public:
  virtual ~Network() = default;
  // Why this rank's calls failed, for ranks that packets may never tell. Before the end.
  virtual void note_end(const core::Abort& abort) = 0;
};

}  // namespace infold::runtime
