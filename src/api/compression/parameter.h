// SPDX-License-Identifier: Apache-2.0
//
// What a Compression keeps of one parameter from step to step.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <infold/compressor.h>

#include "codec/memories/memory.h"

namespace infold {

struct Parameter {
  // A float holds whole numbers up to 2^24, so the count of steps is kept in two.
  static constexpr std::uint64_t kStepDigit = std::uint64_t{1} << 24;
  static constexpr const char* kStepName = "step";

  std::unique_ptr<codec::Compressor> compressor;  // of the method
  std::unique_ptr<codec::Memory> memory;
  std::size_t elements = 0;
  std::size_t rung = 0;  // of the setting that a control changes, as the compressor has it
  std::unique_ptr<codec::Compressor> plain = nullptr;  // made by the first plain call
  codec::Compressor* active = nullptr;                 // of the present call: one of the two
  std::vector<float> steps = {0, 0};                   // the digits, the lower first

  std::uint64_t step() const {
    return static_cast<std::uint64_t>(steps[0]) + static_cast<std::uint64_t>(steps[1]) * kStepDigit;
  }
  void commit() {
    active->commit();
    memory->commit();
    const std::uint64_t next = step() + 1;
    steps = {static_cast<float>(next % kStepDigit), static_cast<float>(next / kStepDigit)};
  }
  std::vector<codec::Kept> kept() {
    std::vector<codec::Kept> all = {{kStepName, &steps}};
    for (const codec::Kept& each : memory->kept()) all.push_back(each);
    for (const codec::Kept& each : compressor->kept()) all.push_back(each);
    return all;
  }
};

}  // namespace infold
