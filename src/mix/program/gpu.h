// SPDX-License-Identifier: Apache-2.0
//
// What one worker's GPU does, one piece of work at a time: the forward pass from the first layer to
// the last, the backward pass back, and an update of each layer whose gradient is summed. The next
// iteration's forward pass of a layer waits for that layer's update alone.
//
// The backward pass runs without a break. Then the forward pass goes before updates that it does
// not need, and the first layers' updates go before the last ones'. Pure: the owner keeps time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/instant.h"
#include "base/prng.h"
#include "mix/program/layers.h"

namespace infold::mix {

// Close to a normal number of mean 0 and variance 1.
double draw_normal(base::Prng& random);

struct GpuOptions {
  std::span<const Layer> layers;
  std::uint32_t iterations = 1;
  double time_scale = 1;  // of all times
  double sigma = 0;       // of the jitter of each piece of work, as a share of its time
  std::uint64_t seed = 1;
};

class Gpu {
 public:
  enum class Work : std::uint8_t { none, forward, backward, update };

  // Requires: at least one layer.
  explicit Gpu(const GpuOptions& options);

  // Begins the next piece of work and returns its time. Returns nothing while the GPU waits for a
  // sum, or after its last iteration. Requires: is_busy() is false.
  std::optional<base::Duration> begin();
  // The work has ended. Returns the layer whose gradient it made, if it made one. Requires:
  // is_busy().
  std::optional<std::uint32_t> end();
  // The gradient that end() returned is summed.
  void take_sum(std::uint32_t layer);

  bool is_busy() const { return work_ != Work::none; }
  bool is_done() const { return iteration_ == options_.iterations && updates_missing_ == 0; }
  // The work that runs now, its layer, and its iteration from 0 on.
  Work work() const { return work_; }
  std::uint32_t layer() const { return layer_; }
  std::uint32_t iteration() const { return work_ == Work::update ? iteration_ - 1 : iteration_; }
  // Time of all work that began.
  base::Duration worked() const { return worked_; }

 private:
  // Of a layer: its update is done; its gradient is away; its sum is here.
  enum class Weights : std::uint8_t { ready, summing, summed };

  void choose();
  base::Duration time_of_work();

  GpuOptions options_;
  base::Prng random_;
  std::vector<Weights> weights_;
  std::uint32_t updates_missing_ = 0;
  std::uint32_t iteration_ = 0;
  bool is_backward_ = false;
  std::uint32_t next_ = 0;  // layer of the pass
  Work work_ = Work::none;
  std::uint32_t layer_ = 0;  // of the work
  base::Duration worked_;
};

}  // namespace infold::mix
