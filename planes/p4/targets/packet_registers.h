// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the pipeline's registers by packets that pass through it, one for each copy of a
// slot. P4Runtime has messages for registers, but BMv2 does not accept them. A packet reads all
// registers of a copy at the same moment.
//
// Packets may get lost, so a task without an answer is sent again. Doing a task twice has the same
// effect as doing it once.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/attempt.h"
#include "base/mutex.h"
#include "planes/p4/device.h"
#include "planes/p4/program.h"
#include "planes/p4/targets/registers.h"

namespace infold::p4 {

class PacketRegisters final : public Registers {
 public:
  explicit PacketRegisters(const Program& program) : program_(program) {}

  base::Attempt<void> clear(Device& device, SlotRange slots) override;
  base::Attempt<std::vector<std::uint32_t>> contributors(Device& device, SlotRange slots) override;
  base::Attempt<ChunkView> look(Device& device, std::uint32_t copy) override;
  base::Attempt<void> set_slot(Device& device, std::uint32_t slot, std::uint32_t open,
                               std::uint32_t seen) override;
  void hear(const v1::PacketIn& packet) override;

 private:
  // Returns what each task's packet found, in the order of the tasks. A repeat may still be under
  // way; the answer to a later call arrives after it. Concurrent calls take turns.
  base::Attempt<std::vector<RegisterView>> run(Device& device,
                                               const std::vector<RegisterTask>& tasks);
  base::Attempt<void> run_window(Device& device, std::span<const RegisterTask> tasks)
      REQUIRES(running_);
  std::vector<v1::PacketOut> unanswered(std::span<const RegisterTask> tasks) const REQUIRES(mutex_);

  const Program& program_;
  base::Mutex running_;  // its holder uses the window of tickets
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  std::uint32_t first_ticket_ GUARDED_BY(mutex_) = 1;               // this window's first ticket
  std::size_t tickets_ GUARDED_BY(mutex_) = 0;                      // the tickets of this window
  std::map<std::uint32_t, RegisterView> heard_ GUARDED_BY(mutex_);  // by ticket, likewise
};

}  // namespace infold::p4
