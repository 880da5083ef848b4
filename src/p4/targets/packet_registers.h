// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the pipeline's registers by packets that pass through it, one for each copy of a
// slot. P4Runtime has messages for registers, and BMv2 takes none of them. A packet reads all
// registers of a copy at one moment.
//
// Packets may get lost. A task that gets no answer is sent again. Nothing that a task does differs
// the second time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/attempt.h"
#include "p4/device.h"
#include "p4/program.h"
#include "p4/targets/registers.h"

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
  // What each task's packet found, in the order of the tasks. A repeat may still be on its way: the
  // answer to another call comes behind it. Two calls at a time take turns.
  base::Attempt<std::vector<RegisterView>> run(Device& device,
                                               const std::vector<RegisterTask>& tasks);
  base::Attempt<void> run_window(Device& device, std::span<const RegisterTask> tasks);
  std::vector<v1::PacketOut> unanswered(std::span<const RegisterTask> tasks) const;

  const Program& program_;
  std::mutex running_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t first_ticket_ = 1;               // of this window
  std::size_t tickets_ = 0;                      // likewise
  std::map<std::uint32_t, RegisterView> heard_;  // by ticket, likewise
};

}  // namespace infold::p4
