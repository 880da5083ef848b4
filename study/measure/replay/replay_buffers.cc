// SPDX-License-Identifier: Apache-2.0
#include "study/measure/replay/replay_buffers.h"

#include <cstring>

#include "base/prng.h"

namespace infold::measure {
namespace {

// Fills with small numbers, of which floats are below 1. The two-byte pattern is a small number
// both as f16 and as bf16.
void fill(std::vector<std::byte>& bytes, DataType type, std::uint64_t seed) {
  base::Prng prng(seed);
  const std::size_t width = element_bytes(type);
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    const auto small = static_cast<float>(prng.uniform());
    const double wide = prng.uniform();
    const std::uint64_t whole = prng.below(100);
    const auto half = static_cast<std::uint16_t>(0x2000 + prng.below(0x1000));
    const void* from = &whole;  // little-endian, like all machines that infold runs on
    if (type == DataType::f32) from = &small;
    if (type == DataType::f64) from = &wide;
    if (type == DataType::f16 || type == DataType::bf16) from = &half;
    std::memcpy(bytes.data() + at, from, width);
  }
}

}  // namespace

std::unique_ptr<CallBuffers> ReplayBuffers::take(const trace::CallShape& shape) {
  auto& free = free_[shape];
  if (!free.empty()) {
    auto buffers = std::move(free.back());
    free.pop_back();
    return buffers;
  }
  auto buffers = std::make_unique<CallBuffers>();
  buffers->input.resize(shape.input * element_bytes(shape.type));
  buffers->output.resize(shape.output * element_bytes(shape.type));
  fill(buffers->input, shape.type, seed_);
  return buffers;
}

void ReplayBuffers::give_back(const trace::CallShape& shape, std::unique_ptr<CallBuffers> buffers) {
  free_[shape].push_back(std::move(buffers));
}

}  // namespace infold::measure
