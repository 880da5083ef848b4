// SPDX-License-Identifier: Apache-2.0
//
// What rank 0 of a job does in a mix, as a trace: the wait for hosts, the GPU's work, and the sum
// of each layer from the moment at which all ranks have its gradient. Times and bytes are
// multiplied by the scale. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "study/mix/program/gpu.h"
#include "trace/trace.h"

namespace infold::mix {

class JobTrace {
 public:
  explicit JobTrace(double scale) : scale_(scale) {}

  void start(double submitted_s, double started_s);
  // Adds the work that the GPU has begun.
  void add_work(base::Instant now, base::Duration time, const Gpu& gpu);
  void begin_sum(base::Instant now, std::uint32_t layer, std::uint64_t elements);
  void end_sum(base::Instant now, std::uint32_t layer);
  trace::Trace take() { return std::move(trace_); }

 private:
  // The nodes that made and that sum a layer's gradient. 0: there is none yet.
  struct Gradient {
    std::uint64_t made_by = 0;
    std::uint64_t summed_by = 0;
  };

  std::uint64_t us(base::Instant time) const;
  Gradient& gradient(std::uint32_t layer);
  trace::Node& add(const std::string& name, trace::NodeType type, std::uint64_t start_us);

  double scale_;
  trace::Trace trace_;
  std::vector<Gradient> gradients_;  // by layer
  std::uint64_t last_work_ = 0;      // the node of the last work; 0: none yet
};

}  // namespace infold::mix
