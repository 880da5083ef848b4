// SPDX-License-Identifier: Apache-2.0
//
// The numbers that ranks contribute. Element i of rank r is a pure function of (seed, r, i), so
// that a prefix of a tensor is the same tensor shorter, and ranks can swap their data. Float
// values are built from their fields, and so include whatever the type can say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/format.h"

namespace infold::oracle {

enum class ValueKind : std::uint8_t {
  smooth,   // uniform in [-1, 1]; integers of up to 7 bits
  heavy,    // exponents spread over a block, as in real gradients; integers over their full range
  apart,    // each rank's block at a scale of its own, far from the others: sums need a realign
  sparse,   // most blocks are zero
  special,  // smooth, with NaN, infinities, -0, subnormals and the largest finite numbers
  extreme,  // near the largest: sums overflow to infinity
  count_,
};
const char* value_kind_name(ValueKind kind);

struct ValueSource {
  core::DataType dtype = core::DataType::f32;
  ValueKind kind = ValueKind::smooth;
  std::uint64_t seed = 0;
};

// Writes elements [0, tensor.size() / dtype_bytes) of one rank.
void fill_values(const ValueSource& source, std::uint16_t rank, std::span<std::byte> tensor);

}  // namespace infold::oracle
