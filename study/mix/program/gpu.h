// SPDX-License-Identifier: Apache-2.0
//
// What one worker's GPU does, one piece of work at a time: the forward pass from the first layer to
// the last, the backward pass in the other direction, and an update of each layer whose gradient
// has been summed. The next iteration's forward pass of a layer waits only for that layer's update.
//
// The backward pass runs without interruption. After it, the forward pass takes precedence over
// updates that it does not need, and updates of earlier layers over those of later ones. Pure: the
// owner keeps time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/instant.h"
#include "base/prng.h"
#include "study/mix/program/layers.h"

namespace infold::mix {

// Returns a number close to a normal distribution with mean 0 and variance 1.
double draw_normal(base::Prng& random);

struct GpuOptions {
  std::span<const Layer> layers;
  std::uint32_t iterations = 1;
  double time_scale = 1;  // multiplies all times
  double sigma = 0;       // jitter of each piece of work, as a share of its time
  std::uint64_t seed = 1;
};

class Gpu {
 public:
  enum class Work : std::uint8_t { none, forward, backward, update };

  // Requires: at least one layer.
  explicit Gpu(const GpuOptions& options);

  // Begins the next piece of work and returns its duration. Returns nothing while the GPU waits for
  // a sum, and after its last iteration. Requires: is_busy() is false.
  std::optional<base::Duration> begin();
  // Call this when the work has ended. Returns the layer whose gradient it made, if any. Requires:
  // is_busy().
  std::optional<std::uint32_t> end();
  // Call this when the gradient that end() returned has been summed.
  void take_sum(std::uint32_t layer);

  bool is_busy() const { return work_ != Work::none; }
  bool is_done() const { return iteration_ == options_.iterations && updates_missing_ == 0; }
  // These return the current work, its layer, and its iteration, counted from 0.
  Work work() const { return work_; }
  std::uint32_t layer() const { return layer_; }
  std::uint32_t iteration() const { return work_ == Work::update ? iteration_ - 1 : iteration_; }
  // Returns the duration of all work that has begun.
  base::Duration worked() const { return worked_; }

 private:
  // A layer's weights are updated; or its gradient is being summed; or its sum has arrived.
  enum class Weights : std::uint8_t { ready, summing, summed };

  void choose();
  base::Duration time_of_work();

  GpuOptions options_;
  base::Prng random_;
  std::vector<Weights> weights_;
  std::uint32_t updates_missing_ = 0;
  std::uint32_t iteration_ = 0;
  bool is_backward_ = false;
  std::uint32_t next_ = 0;  // the next layer of the pass
  Work work_ = Work::none;
  std::uint32_t layer_ = 0;  // the layer of the current work
  base::Duration worked_;
};

}  // namespace infold::mix
