// SPDX-License-Identifier: Apache-2.0
//
// The tensors of replayed collectives. A call takes a pair, and gives it back when it has ended. So
// a step allocates nothing after the first one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <infold/tensor.h>

#include "trace/trace.h"

namespace infold::lab {

// The shape of a call's tensors. Sizes are in elements.
struct CallShape {
  trace::CollectiveKind kind = trace::CollectiveKind::all_reduce;
  DataType type = DataType::f32;
  std::size_t input = 0;
  std::size_t output = 0;  // 0: the input is replaced

  friend auto operator<=>(const CallShape&, const CallShape&) = default;
};

// Bytes that are no multiple of the type's size are elements of one byte.
CallShape shape_of(const trace::Collective& collective, int world);

struct CallBuffers {
  std::vector<std::byte> input;
  std::vector<std::byte> output;
};

class ReplayBuffers {
 public:
  explicit ReplayBuffers(std::uint64_t seed) : seed_(seed) {}

  // Throws std::bad_alloc.
  std::unique_ptr<CallBuffers> take(const CallShape& shape);
  void give_back(const CallShape& shape, std::unique_ptr<CallBuffers> buffers);

 private:
  std::uint64_t seed_;
  std::map<CallShape, std::vector<std::unique_ptr<CallBuffers>>> free_;
};

}  // namespace infold::lab
