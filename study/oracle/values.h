// SPDX-License-Identifier: Apache-2.0
//
// The numbers that ranks contribute. Element i of rank r is a pure function of (seed, r, i), so a
// shorter tensor is a prefix of a longer one, and ranks can swap their data. Floats are built from
// their bit fields, so they include all kinds of values of the type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/format.h"

namespace infold::oracle {

enum class ValueKind : std::uint8_t {
  smooth,   // uniform in [-1, 1]; integers of at most 7 bits
  heavy,    // exponents vary within a block, as in real gradients; integers of the full range
  apart,    // each rank's block has a scale far from the others, so sums need a realign
  sparse,   // most blocks are zeros
  special,  // smooth, with NaN, infinities, -0, subnormals and the largest finite numbers
  extreme,  // near the largest number, so that sums overflow to infinity
  count_,
};
const char* value_kind_name(ValueKind kind);

struct ValueSource {
  core::DataType dtype = core::DataType::f32;
  ValueKind kind = ValueKind::smooth;
  std::uint64_t seed = 0;
};

// Writes elements [0, tensor.size() / element_bytes()) of one rank.
void fill_values(const ValueSource& source, std::uint16_t rank, std::span<std::byte> tensor);

}  // namespace infold::oracle
