// SPDX-License-Identifier: Apache-2.0
//
// What a hook for compressed gradients remembers: one infold::Compression, and what Python asks of
// it while a bucket may be on its way.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infold/compression.h>
#include <infold/local_group.h>

namespace infold::pytorch {

// Any thread may call any method. They wait for an average that is being made.
class Compressor {
 public:
  // Throws std::invalid_argument, with the allowed names and limits.
  explicit Compressor(const CompressionOptions& options);

  Result<void> average(Communicator& communicator, std::span<const ParameterView> parameters,
                       const AverageOptions& options);
  // In a group of one rank: what a network of one rank gives.
  Result<void> average_alone(std::span<const ParameterView> parameters);

  std::string choice();
  void set_rate(double rate);
  CompressionState state();
  // Throws std::invalid_argument if the state is of another choice, rank or world.
  void load(const CompressionState& state, int rank, int world);
  CompressionStatistics statistics();
  std::vector<ControlledCall> controlled_calls();

 private:
  std::mutex mutex_;
  Compression compression_;
  std::optional<LocalGroup> alone_;  // made by the first average_alone()
};

}  // namespace infold::pytorch
