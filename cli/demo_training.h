// SPDX-License-Identifier: Apache-2.0
//
// Training the demo's model twice over the same batches: by one worker alone, and by several that
// add up their gradients through infold. Reports progress from the thread that calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <infold/local_group.h>

#include "cli/demo_model.h"

namespace infold::cli {

struct TrainingOptions {
  std::uint64_t seed = 1;
  std::size_t steps = 300;
  std::size_t training_images = 16384;
  std::size_t batch_size = 64;  // of all workers together
  float learning_rate = 0.04F;
  LocalGroupOptions group;    // of distributed training
  std::size_t hash_step = 0;  // after which parameters are hashed; 0 for never
};

struct StepReport {
  std::size_t step = 0;            // done, from 1
  double loss = 0;                 // mean over the batch, before the step
  std::uint64_t packets_lost = 0;  // so far
  std::uint64_t packets_resent = 0;
};
// Returns false to stop.
using Progress = std::function<bool(const StepReport&)>;

struct TrainingResult {
  std::vector<StepReport> steps;
  double seconds = 0;
  double accuracy = 0;  // on images that training never saw
  bool stopped = false;
  std::string error;  // of infold; empty when all calls succeeded

  // Of distributed training only.
  NetworkStatistics network;
  std::uint64_t packets_resent = 0;
  std::uint64_t packets_asked = 0;              // short questions after late answers
  std::vector<std::uint64_t> parameter_hashes;  // of each worker, at the end
  std::uint64_t hash_at_step = 0;               // of rank 0
};

TrainingResult train_alone(const TrainingOptions& options, const Progress& progress);
TrainingResult train_together(const TrainingOptions& options, const Progress& progress);

// Sums integers over such a network and compares with the plain sum. Empty: all are equal.
std::string check_integer_sum(const LocalGroupOptions& options, std::size_t elements);

}  // namespace infold::cli
