// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the pipeline's registers by P4Runtime's messages. A message has many entries,
// and each is read or written at a different moment.
//
// Three registers hold the same state of each slot, because a register of the chip has one output.
#pragma once

#include <cstdint>
#include <vector>

#include "planes/p4/program.h"
#include "planes/p4/targets/registers.h"

namespace infold::p4 {

class RegisterEntries final : public Registers {
 public:
  explicit RegisterEntries(const Program& program) : program_(program) {}

  base::Attempt<void> clear(Device& device, SlotRange slots) override;
  base::Attempt<std::vector<std::uint32_t>> contributors(Device& device, SlotRange slots) override;
  base::Attempt<ChunkView> look(Device& device, std::uint32_t copy) override;
  base::Attempt<void> set_slot(Device& device, std::uint32_t slot, std::uint32_t open,
                               std::uint32_t seen) override;

 private:
  using Numbers = std::vector<std::uint64_t>;
  void add_slot(std::vector<v1::Update>& updates, std::uint32_t slot, std::uint32_t open,
                std::uint32_t seen) const;
  // The numbers of each entry, in the order of `wanted`.
  base::Attempt<std::vector<Numbers>> read(Device& device,
                                           const std::vector<v1::Entity>& wanted) const;

  const Program& program_;
};

}  // namespace infold::p4
