// SPDX-License-Identifier: Apache-2.0
//
// The tensors of replayed collectives. A call takes a pair of buffers and gives it back when it has
// ended, so that steps after the first one do not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trace/call_shape.h"

namespace infold::measure {

struct CallBuffers {
  std::vector<std::byte> input;
  std::vector<std::byte> output;
};

class ReplayBuffers {
 public:
  explicit ReplayBuffers(std::uint64_t seed) : seed_(seed) {}

  // Throws std::bad_alloc.
  std::unique_ptr<CallBuffers> take(const trace::CallShape& shape);
  void give_back(const trace::CallShape& shape, std::unique_ptr<CallBuffers> buffers);

 private:
  std::uint64_t seed_;
  std::map<trace::CallShape, std::vector<std::unique_ptr<CallBuffers>>> free_;
};

}  // namespace infold::measure
