// SPDX-License-Identifier: Apache-2.0
//
// The registers of a pipeline, which the controller reads and writes. Slots and copies have the
// same numbers as in the pipeline. Slot n has the copies 2 n and 2 n + 1.
//
// Any thread except the device's own may call all methods but hear().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/attempt.h"
#include "core/packet/packet.h"
#include "planes/p4/device.h"
#include "planes/p4/program.h"

namespace infold::p4 {

struct SlotRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// A copy's chunk, and the state of its slot. While packets of the job are summed, the fields may
// come from different moments.
struct ChunkView {
  std::uint32_t open = 0;
  std::uint32_t seen = 0;
  std::uint32_t round = 0;
  bool is_spoiled = false;
  core::ChunkSignature signature;
  std::uint32_t first_worker = 0;
};

// Converts the two fields that the program stores.
inline core::ChunkSignature signature_of(std::uint32_t layout, std::uint32_t shape) {
  return {static_cast<std::uint16_t>(layout >> 16), static_cast<std::uint8_t>(layout >> 8),
          static_cast<std::uint8_t>(layout), shape};
}

// The program does not store the round of a copy. It is the open round or the one before, because
// no rank is two rounds ahead of another.
inline std::uint32_t round_of(std::uint32_t copy, std::uint32_t open) {
  return (open & 1) == (copy & 1) ? open : open - 1;
}

class Registers {
 public:
  virtual ~Registers() = default;
  // Clears the registers for a new job. Afterwards nobody can ask for earlier contents.
  virtual base::Attempt<void> clear(Device& device, SlotRange slots) = 0;
  // Who has contributed to the open round of each slot.
  virtual base::Attempt<std::vector<std::uint32_t>> contributors(Device& device,
                                                                 SlotRange slots) = 0;
  virtual base::Attempt<ChunkView> look(Device& device, std::uint32_t copy) = 0;
  // Requires: the job's packets are not summed any more.
  virtual base::Attempt<void> set_slot(Device& device, std::uint32_t slot, std::uint32_t open,
                                       std::uint32_t seen) = 0;
  // Called on the device's thread.
  virtual void hear(const v1::PacketIn& /*packet*/) {}
};

// Makes the registers for the program's target. Requires: the program outlives them.
std::unique_ptr<Registers> make_registers(const Program& program);

}  // namespace infold::p4
