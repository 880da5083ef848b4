// SPDX-License-Identifier: Apache-2.0
#include "planes/p4/targets/registers.h"

#include "planes/p4/targets/packet_registers.h"
#include "planes/p4/targets/register_entries.h"

namespace infold::p4 {

std::unique_ptr<Registers> make_registers(const Program& program) {
  if (program.target() == TargetKind::bmv2) return std::make_unique<PacketRegisters>(program);
  return std::make_unique<RegisterEntries>(program);
}

}  // namespace infold::p4
