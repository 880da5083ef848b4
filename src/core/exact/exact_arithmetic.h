// SPDX-License-Identifier: Apache-2.0
//
// The loops of exact sums of floats, in one table for each float type. An element's sum is high +
// low, two doubles that together equal the sum of all contributions. When two doubles no longer
// hold it, the sum is in bins (bins.h). The scalar loops are here and the vector loops in
// src/numeric; both give the same results, bit for bit.
//
// NaN and infinities are kept in `high`, as the processor's own values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"

namespace infold::core {

// The loops for contributions of one type: the tensor's type, or the doubles of another sum.
struct ExactArithmetic {
  // high[i] = x[i].
  using Begin = void (*)(const std::byte* x, std::uint32_t count, double* high);
  Begin begin;

  // after[i] = before[i] + x[i]. Returns false if some sum was rounded; `after` is useless then.
  using Add = bool (*)(const double* before, const std::byte* x, std::uint32_t count,
                       double* after);
  Add add;

  // after[i] = a[i] + b[i], from two tensors. Returns false as `add` does.
  using AddTwo = bool (*)(const std::byte* a, const std::byte* b, std::uint32_t count,
                          double* after);
  AddTwo add_two;

  // out[i] = a[i] + b[i], rounded once to the type. Null if the processor cannot add two numbers of
  // this type directly.
  using SumTwo = void (*)(const std::byte* a, const std::byte* b, std::uint32_t count,
                          std::byte* out);
  SumTwo sum_two;

  // Does the same as `add`, and adds what `after` lacks to `low`. Returns false if low_after was
  // rounded or a sum overflowed; both results are useless then. A null low_before stands for zeros.
  using AddBoth = bool (*)(const double* before, const double* low_before, const std::byte* x,
                           std::uint32_t count, double* after, double* low_after);
  AddBoth add_both;

  // out[i] = (high[i] + low[i]) / divisor, rounded once. A null `low` stands for zeros.
  using Round = void (*)(const double* high, const double* low, std::uint32_t count,
                         std::uint32_t divisor, std::byte* out);
  Round round;
};

// The float types: f32, f16, bf16 and f64, in the order of their codes.
inline constexpr std::uint32_t kExactTypes = 4;

// The scalar loops, by type. They define all results.
extern const ExactArithmetic kScalarExact[kExactTypes];
// Requires: a float type.
inline const ExactArithmetic& scalar_exact_arithmetic(DataType dtype) {
  return kScalarExact[static_cast<std::size_t>(dtype)];
}

// Rounds one element of a sum in bins.
void round_bins(DataType dtype, const std::int64_t* words, std::size_t stride, double special,
                std::uint32_t divisor, std::byte* out, std::size_t index);

}  // namespace infold::core
