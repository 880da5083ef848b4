// SPDX-License-Identifier: Apache-2.0
//
// The registers of a pipeline, which the controller reads and writes. Slots and copies have the
// numbers that they have in the pipeline. Copy 2 n and copy 2 n + 1 are those of slot n.
//
// Any thread but the device's own may call all but hear().
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/attempt.h"
#include "core/packet/packet.h"
#include "p4/device.h"
#include "p4/program.h"

namespace infold::p4 {

struct SlotRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// A copy's chunk, and where its slot stands. While packets of the job are summed, its parts may be
// of different moments.
struct ChunkView {
  std::uint32_t open = 0;
  std::uint32_t seen = 0;
  std::uint32_t round = 0;
  bool is_spoiled = false;
  core::ChunkSignature signature;
  std::uint32_t first_worker = 0;
};

// From the two fields that the program stores.
inline core::ChunkSignature signature_of(std::uint32_t layout, std::uint32_t shape) {
  return {static_cast<std::uint16_t>(layout >> 16), static_cast<std::uint8_t>(layout >> 8),
          static_cast<std::uint8_t>(layout), shape};
}

// The program stores no round of a copy. The copy is of the open round or of the one before,
// because no rank is two rounds ahead of another.
inline std::uint32_t round_of(std::uint32_t copy, std::uint32_t open) {
  return (open & 1) == (copy & 1) ? open : open - 1;
}

class Registers {
 public:
  virtual ~Registers() = default;
  // As for a job that begins. Nothing that was there can be asked for afterwards.
  virtual base::Attempt<void> clear(Device& device, SlotRange slots) = 0;
  // Who has contributed to the open round of each slot.
  virtual base::Attempt<std::vector<std::uint32_t>> contributors(Device& device,
                                                                 SlotRange slots) = 0;
  virtual base::Attempt<ChunkView> look(Device& device, std::uint32_t copy) = 0;
  // Requires: the job's packets are not summed any more.
  virtual base::Attempt<void> set_slot(Device& device, std::uint32_t slot, std::uint32_t open,
                                       std::uint32_t seen) = 0;
  // From the device's thread.
  virtual void hear(const v1::PacketIn& /*packet*/) {}
};

// As the program's target has them. Requires: the program lives longer.
std::unique_ptr<Registers> make_registers(const Program& program);

}  // namespace infold::p4
