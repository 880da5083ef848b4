// SPDX-License-Identifier: Apache-2.0
//
// The state that a Compression keeps of one parameter from step to step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <infold/compressor.h>

#include "compress/memories/memory.h"

namespace infold {

struct Parameter {
  // A float can hold whole numbers up to 2^24, so two floats hold the number of steps.
  static constexpr std::uint64_t kStepDigit = std::uint64_t{1} << 24;
  static constexpr const char* kStepName = "step";

  std::unique_ptr<compress::Compressor> compressor;  // made by the method
  std::unique_ptr<compress::Memory> memory;
  std::size_t elements = 0;
  std::size_t rung = 0;  // the compressor's setting, which steering changes
  std::unique_ptr<compress::Compressor> plain = nullptr;  // made by the first plain call
  compress::Compressor* active = nullptr;                 // the one that the present call uses
  std::span<const float> input = {};                      // what `active` got in this call
  std::vector<float> steps = {0, 0};                      // two digits, the lower first

  std::uint64_t step() const {
    return static_cast<std::uint64_t>(steps[0]) + static_cast<std::uint64_t>(steps[1]) * kStepDigit;
  }
  // The new compressor goes on with what the old one kept.
  void replace_compressor(std::unique_ptr<compress::Compressor> made, std::size_t its_rung) {
    std::vector<compress::Kept> before = compressor->kept();
    const std::vector<compress::Kept> now = made->kept();
    for (std::size_t i = 0; i < now.size(); ++i) *now[i].values = *before[i].values;
    compressor = std::move(made);
    rung = its_rung;
  }
  void commit() {
    active->commit();
    memory->commit();
    const std::uint64_t next = step() + 1;
    steps = {static_cast<float>(next % kStepDigit), static_cast<float>(next / kStepDigit)};
  }
  std::vector<compress::Kept> kept() {
    std::vector<compress::Kept> all = {{kStepName, &steps}};
    for (const compress::Kept& each : memory->kept()) all.push_back(each);
    for (const compress::Kept& each : compressor->kept()) all.push_back(each);
    return all;
  }
};

}  // namespace infold
