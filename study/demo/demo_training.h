// SPDX-License-Identifier: Apache-2.0
//
// Trains the demo's model twice on the same batches: with one worker alone, and with several that
// add up their gradients through infold. The same sums also carry the values that rank 0 reports,
// so no other connection is needed. Reports come on the calling thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <infold/communicator.h>

#include "study/demo/demo_model.h"

namespace infold::demo {

struct TrainingOptions {
  std::uint64_t seed = 1;
  std::size_t steps = 300;
  std::size_t training_images = 16384;
  std::size_t batch_size = 64;  // images per step, for all workers together
  float learning_rate = 0.04F;
  std::size_t hash_step = 0;  // parameters are hashed after this step; 0: never
};

// Packet counts since joining, for one rank or for all ranks.
struct PacketCounts {
  std::int64_t passed = 0;  // in both directions, including lost ones
  std::int64_t lost = 0;
  std::int64_t resent = 0;
  std::int64_t asked = 0;  // queries that a worker sent because an answer was late
};

struct StepReport {
  std::size_t step = 0;  // steps done, from 1
  double loss = 0;       // mean over the batch, before the step
  PacketCounts packets;  // counts of all ranks before the step
};
// Returns false to stop.
using Progress = std::function<bool(const StepReport&)>;

struct TrainingResult {
  std::vector<StepReport> steps;
  double seconds = 0;
  double accuracy = 0;  // share of right answers, on images that training never saw
  bool stopped = false;
  std::string error;  // infold's message; empty if all calls succeeded

  // The fields below are set by distributed training only.
  PacketCounts packets;                     // for all ranks
  std::vector<std::uint64_t> model_hashes;  // a hash of each rank's parameters, at the end
  std::uint64_t hash_at_step = 0;           // rank 0's hash
  // The number of wrong elements in a sum as long as the model.
  std::uint64_t wrong_sums = 0;
};

TrainingResult train_alone(const TrainingOptions& options, const Progress& progress);

// Trains as one rank of a job; each rank calls this. Only rank 0 calls `progress` and has the
// complete result. `count` returns this rank's packet counts so far. After the last step, a sum of
// integers is checked.
TrainingResult train_as_rank(const TrainingOptions& options, Communicator& communicator,
                             const std::function<PacketCounts()>& count, const Progress& progress);

}  // namespace infold::demo
