// SPDX-License-Identifier: Apache-2.0
//
// What a hook for compressed gradients remembers: one infold::Compression. Python may use it while
// a bucket is being averaged.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infold/compression.h>
#include <infold/local_group.h>

#include "base/mutex.h"

namespace infold::pytorch {

// Any thread may call any method. A method waits while an average is being made.
class Compressor {
 public:
  // Throws std::invalid_argument, which lists the allowed names and limits.
  explicit Compressor(const CompressionOptions& options);

  Result<void> average(Communicator& communicator, std::span<const ParameterView> parameters,
                       const AverageOptions& options);
  // For a group of one rank: gives what a network of one rank would give.
  Result<void> average_alone(std::span<const ParameterView> parameters);

  std::string choice();
  void set_rate(double rate);
  CompressionState state();
  // Throws std::invalid_argument if the state has another choice, rank or world.
  void load(const CompressionState& state, int rank, int world,
            std::span<const ParameterShape> parameters);
  CompressionStatistics statistics();
  std::vector<SteeredCall> steered_calls();

 private:
  base::Mutex mutex_;
  Compression compression_ GUARDED_BY(mutex_);
  std::optional<LocalGroup> alone_ GUARDED_BY(mutex_);  // made by the first average_alone()
};

}  // namespace infold::pytorch
