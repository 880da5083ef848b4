// SPDX-License-Identifier: Apache-2.0
//
// The loops behind exact sums of floats. An element's sum is high + low, two doubles whose exact
// sum is that of all contributions; or it is in bins (bins.h), once two doubles do not hold it.
// One table for each float type. Scalar loops are here, vector loops in src/numeric; both give
// the same results, bit for bit.
//
// NaN and infinities travel in `high` as the processor has them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/format.h"

namespace infold::core {

// What the doubles of a sum were added from: the tensor's type, or the doubles of another sum.
struct ExactArithmetic {
  // high[i] = x[i].
  using Begin = void (*)(const std::byte* x, std::uint32_t count, double* high);
  Begin begin;

  // after[i] = before[i] + x[i]. False where some sum was rounded; `after` is useless then.
  using Add = bool (*)(const double* before, const std::byte* x, std::uint32_t count,
                       double* after);
  Add add;

  // after[i] = a[i] + b[i], of two tensors. False as for `add`.
  using AddTwo = bool (*)(const std::byte* a, const std::byte* b, std::uint32_t count,
                          double* after);
  AddTwo add_two;

  // out[i] = a[i] + b[i], rounded once, in the type. Null where the processor does not add two such
  // numbers by itself.
  using SumTwo = void (*)(const std::byte* a, const std::byte* b, std::uint32_t count,
                          std::byte* out);
  SumTwo sum_two;

  // The same with what `after` lacks added to `low`. False where low_after was rounded, or a sum
  // overflowed; both are useless then. low_before null: zeros.
  using AddBoth = bool (*)(const double* before, const double* low_before, const std::byte* x,
                           std::uint32_t count, double* after, double* low_after);
  AddBoth add_both;

  // out[i] = (high[i] + low[i]) / divisor, rounded once. low null: zeros.
  using Round = void (*)(const double* high, const double* low, std::uint32_t count,
                         std::uint32_t divisor, std::byte* out);
  Round round;
};

// Of f32, f16, bf16 and f64, in the order of their codes.
inline constexpr std::uint32_t kExactTypes = 4;

// The defining loops, by type.
extern const ExactArithmetic kScalarExact[kExactTypes];
// Requires: a float type.
inline const ExactArithmetic& scalar_exact_arithmetic(DataType dtype) {
  return kScalarExact[static_cast<std::size_t>(dtype)];
}

// One element of such a sum in bins, rounded.
void round_bins(DataType dtype, const std::int64_t* words, std::size_t stride, double special,
                std::uint32_t divisor, std::byte* out, std::size_t index);

}  // namespace infold::core
