// SPDX-License-Identifier: Apache-2.0
//
// An emulator as its program sees it: real ranks join at an address, and at the end there is a
// report.
#pragma once

#include "io/address/socket_address.h"
#include "study/emulate/paced_server.h"

namespace infold::emulate {

class Emulation {
 public:
  virtual ~Emulation() = default;  // tells all jobs that they end
  virtual io::SocketAddress address() const = 0;
  virtual EmulationReport report() = 0;
};

}  // namespace infold::emulate
