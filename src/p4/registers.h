// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the pipeline's registers by packets that pass through it, one for each copy of a
// slot. P4Runtime has messages for registers, and BMv2 takes none of them. A packet works on every
// target, and reads all registers of a copy at one moment.
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

namespace infold::p4 {

class Registers {
 public:
  explicit Registers(const Program& program) : program_(program) {}

  // What each task's packet found, in the order of the tasks. A repeat may still be on its way: the
  // answer to another call comes behind it. Any thread but the device's own may call it. Two calls
  // at a time take turns.
  base::Attempt<std::vector<RegisterView>> run(Device& device,
                                               const std::vector<RegisterTask>& tasks);
  // From the device's thread.
  void hear(const v1::PacketIn& packet);

 private:
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

// The task that makes a copy what it was when the device started. Slots begin with round 1. Their
// copies have the rounds 0 and -1, as in core::Adder.
RegisterTask clearing_task(std::uint32_t copy);

}  // namespace infold::p4
