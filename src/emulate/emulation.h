// SPDX-License-Identifier: Apache-2.0
//
// An emulator as its program has it: real ranks join at an address, and at the end there is a
// report.
#pragma once

#include "emulate/paced_server.h"
#include "io/address/socket_address.h"

namespace infold::emulate {

class Emulation {
 public:
  virtual ~Emulation() = default;  // tells all jobs
  virtual io::SocketAddress address() const = 0;
  virtual EmulationReport report() = 0;
};

}  // namespace infold::emulate
