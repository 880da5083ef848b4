// SPDX-License-Identifier: Apache-2.0
//
// Training the demo's model twice over the same batches: by one worker alone, and by several that
// add up their gradients through infold. Ranks tell each other what rank 0 reports by the same
// sums, so that nothing else has to connect them. Reports come on the thread that calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <infold/communicator.h>

#include "lab/demo/demo_model.h"

namespace infold::lab {

struct TrainingOptions {
  std::uint64_t seed = 1;
  std::size_t steps = 300;
  std::size_t training_images = 16384;
  std::size_t batch_size = 64;  // of all workers together
  float learning_rate = 0.04F;
  std::size_t hash_step = 0;  // after which parameters are hashed; 0 for never
};

// Packets of a rank, or of all, since they joined.
struct PacketCounts {
  std::int64_t passed = 0;  // both ways, lost ones included
  std::int64_t lost = 0;
  std::int64_t resent = 0;
  std::int64_t asked = 0;  // short questions after late answers
};

struct StepReport {
  std::size_t step = 0;  // done, from 1
  double loss = 0;       // mean over the batch, before the step
  PacketCounts packets;  // of all ranks, as they were before the step
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
  PacketCounts packets;                     // of all ranks
  std::vector<std::uint64_t> model_hashes;  // of each rank's parameters, at the end
  std::uint64_t hash_at_step = 0;           // of rank 0
  std::uint64_t wrong_sums = 0;             // of as many integers as the model has parameters
};

TrainingResult train_alone(const TrainingOptions& options, const Progress& progress);

// As one rank of a job, each of which calls this. Progress is asked at rank 0 alone, whose result
// alone is whole; `count` tells what this rank's packets did so far. Ends with a check of integers.
TrainingResult train_as_rank(const TrainingOptions& options, Communicator& communicator,
                             const std::function<PacketCounts()>& count, const Progress& progress);

}  // namespace infold::lab
