// SPDX-License-Identifier: Apache-2.0
#include "core/exact/exact_arithmetic.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "core/exact/bins.h"
#include "core/exact/fp_guard.h"

namespace infold::core {
namespace {

// Returns a number of the type exactly as a double. Integer operations keep subnormals in every
// mode of the processor.
template <typename Format>
double widened(const std::byte* x, std::size_t index) {
  const auto bits = load<typename Format::Bits>(x, index);
  if constexpr (std::is_same_v<Format, F64>) {
    return std::bit_cast<double>(bits);
  } else {
    if (!is_special<Format>(bits)) return std::bit_cast<double>(pack<F64>(unpack<Format>(bits)));
    const std::uint64_t sign = (bits & Format::kSign) != 0 ? F64::kSign : 0;
    const bool is_infinite = magnitude_bits<Format>(bits) == Format::kInfinity;
    return std::bit_cast<double>(sign | (is_infinite ? F64::kInfinity : F64::kQuietNan));
  }
}

template <typename Format>
void begin(const std::byte* x, std::uint32_t count, double* high) {
  for (std::uint32_t i = 0; i < count; ++i) high[i] = widened<Format>(x, i);
}

template <typename Format>
[[gnu::noinline]] bool add(const double* before, const std::byte* x, std::uint32_t count,
                           double* after) {
  const FpGuard guard;
  for (std::uint32_t i = 0; i < count; ++i) after[i] = before[i] + widened<Format>(x, i);
  return !guard.rounded();
}

template <typename Format>
[[gnu::noinline]] bool add_two(const std::byte* a, const std::byte* b, std::uint32_t count,
                               double* after) {
  const FpGuard guard;
  for (std::uint32_t i = 0; i < count; ++i)
    after[i] = widened<Format>(a, i) + widened<Format>(b, i);
  return !guard.rounded();
}

// An IEEE 754 addition is exactly this: the sum of two numbers of a type, rounded once to the type.
template <typename Float>
[[gnu::noinline]] void sum_two(const std::byte* a, const std::byte* b, std::uint32_t count,
                               std::byte* out) {
  const FpGuard guard;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Float sum = load<Float>(a, i) + load<Float>(b, i) + Float{0};  // + 0 turns -0 into +0
    store(out, i, std::isnan(sum) ? std::numeric_limits<Float>::quiet_NaN() : sum);
  }
}

// Knuth's TwoSum: sum + error equals a + b exactly, unless the sum overflows.
struct TwoSum {
  double sum;
  double error;
};
TwoSum two_sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  const double of_a = sum - of_b;
  return {sum, (a - of_a) + (b - of_b)};
}

template <typename Format>
[[gnu::noinline]] bool add_both(const double* before, const double* low_before, const std::byte* x,
                                std::uint32_t count, double* after, double* low_after) {
  FpGuard guard;
  for (std::uint32_t i = 0; i < count; ++i) {
    const TwoSum both = two_sum(before[i], widened<Format>(x, i));
    after[i] = both.sum;
    // A NaN or an infinity has no error term.
    low_after[i] = std::isfinite(both.sum) ? both.error : 0;
  }
  if (guard.overflowed()) return false;
  if (low_before == nullptr) return true;
  guard.forget();
  for (std::uint32_t i = 0; i < count; ++i) low_after[i] += low_before[i];
  return !guard.rounded() && !guard.overflowed();
}

template <typename Format>
void store_special(double value, std::byte* out, std::size_t index) {
  using Bits = typename Format::Bits;
  Bits bits = Format::kQuietNan;
  if (!std::isnan(value)) {
    bits = static_cast<Bits>(Format::kInfinity | (value < 0 ? Format::kSign : Bits{0}));
  }
  store(out, index, bits);
}

ExactFloat taken_apart(double value) { return unpack<F64>(std::bit_cast<std::uint64_t>(value)); }

template <typename Format>
void round(const double* high, const double* low, std::uint32_t count, std::uint32_t divisor,
           std::byte* out) {
  constexpr BinLayout kLayout = bin_layout(Format::kDtype);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!std::isfinite(high[i])) {
      store_special<Format>(high[i], out, i);
      continue;
    }
    const ExactFloat large = taken_apart(high[i]);
    const ExactFloat small = low != nullptr ? taken_apart(low[i]) : ExactFloat{};
    ExactFloat quotient = large;
    if (divisor > 1 || small.significand != 0) {
      std::array<std::int64_t, kBinRowsMax> words{};
      add_to_bins(large, kLayout, {words.data()});
      add_to_bins(small, kLayout, {words.data()});
      quotient = quotient_of_bins(kLayout, {words.data()}, divisor);
    }
    if (quotient.significand == 0) quotient = {};  // an exact zero is +0
    store(out, i, pack<Format>(quotient));
  }
}

template <typename Format>
constexpr ExactArithmetic::SumTwo kSumTwo = nullptr;
template <>
constexpr ExactArithmetic::SumTwo kSumTwo<F32> = sum_two<float>;
template <>
constexpr ExactArithmetic::SumTwo kSumTwo<F64> = sum_two<double>;

template <typename Format>
constexpr ExactArithmetic kScalar = {begin<Format>,   add<Format>,      add_two<Format>,
                                     kSumTwo<Format>, add_both<Format>, round<Format>};

template <typename Format>
void round_bins_as(const std::int64_t* words, std::size_t stride, double special,
                   std::uint32_t divisor, std::byte* out, std::size_t index) {
  if (!std::isfinite(special)) {
    store_special<Format>(special, out, index);
    return;
  }
  const ExactFloat quotient =
      quotient_of_bins(bin_layout(Format::kDtype), {words, stride}, divisor);
  store(out, index, pack<Format>(quotient));
}

}  // namespace

const ExactArithmetic kScalarExact[kExactTypes] = {kScalar<F32>, kScalar<F16>, kScalar<Bf16>,
                                                   kScalar<F64>};

void round_bins(DataType dtype, const std::int64_t* words, std::size_t stride, double special,
                std::uint32_t divisor, std::byte* out, std::size_t index) {
  switch (dtype) {
    case DataType::f32: return round_bins_as<F32>(words, stride, special, divisor, out, index);
    case DataType::f16: return round_bins_as<F16>(words, stride, special, divisor, out, index);
    case DataType::bf16: return round_bins_as<Bf16>(words, stride, special, divisor, out, index);
    default: return round_bins_as<F64>(words, stride, special, divisor, out, index);
  }
}

}  // namespace infold::core
