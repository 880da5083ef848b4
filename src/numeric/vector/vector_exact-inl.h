// SPDX-License-Identifier: Apache-2.0
//
// Exact sums of floats in vectors, with the same bits as the loops of
// core/exact/exact_arithmetic.cc. The processor's flag that it had to round (fp_guard.h) replaces a
// comparison for each element.
#if defined(INFOLD_NUMERIC_VECTOR_EXACT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_EXACT_INL_H_
#undef INFOLD_NUMERIC_VECTOR_EXACT_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_EXACT_INL_H_
#endif

#include <algorithm>
#include <bit>

#include <hwy/highway.h>

#include "core/exact/exact_arithmetic.h"
#include "core/exact/fp_guard.h"
#include "numeric/vector/vector_floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

using core::ExactArithmetic;
using core::FpGuard;

#if INFOLD_VECTOR_BLOCKS

// Loads as many elements as a vector of doubles has.
template <typename Format, typename D>
HWY_INLINE hn::VFromD<D> load_doubles(D d, const typename Format::Bits* at) {
  if constexpr (Format::kWidth == 64) {
    return load_floats<Format>(d, at);
  } else {
    const hn::Rebind<float, D> df;
    return hn::PromoteTo(d, load_floats<Format>(df, at));
  }
}

template <typename Format>
HWY_NOINLINE void begin(const std::byte* x, std::uint32_t count, double* high) {
  const hn::ScalableTag<double> d;
  const std::uint32_t lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto* const at = reinterpret_cast<const typename Format::Bits*>(x);
  const FpGuard guard;
  std::uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(load_doubles<Format>(d, at + i), d, high + i);
  }
  core::scalar_exact_arithmetic(Format::kDtype)
      .begin(x + std::size_t{i} * sizeof(typename Format::Bits), count - i, high + i);
}

template <typename Format>
HWY_NOINLINE bool add(const double* before, const std::byte* x, std::uint32_t count,
                      double* after) {
  const hn::ScalableTag<double> d;
  const std::uint32_t lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto* const at = reinterpret_cast<const typename Format::Bits*>(x);
  std::uint32_t i = 0;
  {
    const FpGuard guard;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto first = hn::Add(hn::LoadU(d, before + i), load_doubles<Format>(d, at + i));
      const auto second =
          hn::Add(hn::LoadU(d, before + i + lanes), load_doubles<Format>(d, at + i + lanes));
      hn::StoreU(first, d, after + i);
      hn::StoreU(second, d, after + i + lanes);
    }
    if (guard.rounded()) return false;
  }
  if (i == count) return true;
  return core::scalar_exact_arithmetic(Format::kDtype)
      .add(before + i, x + std::size_t{i} * sizeof(typename Format::Bits), count - i, after + i);
}

// Returns the sums of one vector of each of the two tensors.
template <typename Format, typename D>
HWY_INLINE hn::VFromD<D> sum_of_two(D d, const typename Format::Bits* a,
                                    const typename Format::Bits* b) {
  return hn::Add(load_doubles<Format>(d, a), load_doubles<Format>(d, b));
}

template <typename Format>
HWY_NOINLINE bool add_two(const std::byte* a, const std::byte* b, std::uint32_t count,
                          double* after) {
  const hn::ScalableTag<double> d;
  const std::uint32_t lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto* const at_a = reinterpret_cast<const typename Format::Bits*>(a);
  const auto* const at_b = reinterpret_cast<const typename Format::Bits*>(b);
  std::uint32_t i = 0;
  {
    const FpGuard guard;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
      const auto first = sum_of_two<Format>(d, at_a + i, at_b + i);
      const auto second = sum_of_two<Format>(d, at_a + i + lanes, at_b + i + lanes);
      hn::StoreU(first, d, after + i);
      hn::StoreU(second, d, after + i + lanes);
    }
    if (guard.rounded()) return false;
  }
  if (i == count) return true;
  const std::size_t done_bytes = std::size_t{i} * sizeof(typename Format::Bits);
  return core::scalar_exact_arithmetic(Format::kDtype)
      .add_two(a + done_bytes, b + done_bytes, count - i, after + i);
}

template <typename Format>
HWY_NOINLINE void sum_two(const std::byte* a, const std::byte* b, std::uint32_t count,
                          std::byte* out) {
  using Float = Wide<Format>;
  using Bits = typename Format::Bits;
  const hn::ScalableTag<Float> d;
  const std::uint32_t lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto nan = hn::Set(d, std::bit_cast<Float>(Format::kQuietNan));
  const auto* const at_a = reinterpret_cast<const Bits*>(a);
  const auto* const at_b = reinterpret_cast<const Bits*>(b);
  auto* const to = reinterpret_cast<Bits*>(out);
  std::uint32_t i = 0;
  {
    const FpGuard guard;
    for (; i + lanes <= count; i += lanes) {
      const auto sum = hn::Add(load_floats<Format>(d, at_a + i), load_floats<Format>(d, at_b + i));
      // 0 makes +0 of -0.
      const auto value = hn::Add(sum, hn::Zero(d));
      store_floats<Format, true>(d, hn::IfThenElse(hn::IsNaN(value), nan, value), to + i);
    }
  }
  const std::size_t done_bytes = std::size_t{i} * sizeof(Bits);
  core::scalar_exact_arithmetic(Format::kDtype)
      .sum_two(a + done_bytes, b + done_bytes, count - i, out + done_bytes);
}

template <typename Format>
HWY_NOINLINE bool add_both(const double* before, const double* low_before, const std::byte* x,
                           std::uint32_t count, double* after, double* low_after) {
  const hn::ScalableTag<double> d;
  const std::uint32_t lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto* const at = reinterpret_cast<const typename Format::Bits*>(x);
  std::uint32_t i = 0;
  {
    FpGuard guard;
    for (; i + lanes <= count; i += lanes) {
      const auto a = hn::LoadU(d, before + i);
      const auto b = load_doubles<Format>(d, at + i);
      const auto sum = hn::Add(a, b);
      const auto of_b = hn::Sub(sum, a);
      const auto of_a = hn::Sub(sum, of_b);
      const auto error = hn::Add(hn::Sub(a, of_a), hn::Sub(b, of_b));
      hn::StoreU(sum, d, after + i);
      hn::StoreU(hn::IfThenElseZero(hn::IsFinite(sum), error), d, low_after + i);
    }
    if (guard.overflowed()) return false;
    if (low_before != nullptr) {
      guard.forget();
      for (std::uint32_t j = 0; j < i; j += lanes) {
        hn::StoreU(hn::Add(hn::LoadU(d, low_after + j), hn::LoadU(d, low_before + j)), d,
                   low_after + j);
      }
      if (guard.rounded() || guard.overflowed()) return false;
    }
  }
  if (i == count) return true;
  return core::scalar_exact_arithmetic(Format::kDtype)
      .add_both(before + i, low_before == nullptr ? nullptr : low_before + i,
                x + std::size_t{i} * sizeof(typename Format::Bits), count - i, after + i,
                low_after + i);
}

// Rounds a double to the format's precision. It adds and subtracts a number so large that its last
// place is the last place of the result. The processor then rounds once, to nearest and ties to
// even.
template <typename Format, typename V>
HWY_INLINE V on_grid(V value) {
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto smallest = hn::Set(d, Format::kExponentMin == -24 ? 0x1p-14 : 0x1p-126);
  const auto power =
      hn::And(hn::BitCast(du, hn::Max(hn::Abs(value), smallest)), hn::Set(du, F64::kInfinity));
  constexpr double kScale =
      1.5 * static_cast<double>(std::uint64_t{1} << (52 - Format::kFractionBits));
  const auto grid = hn::Mul(hn::BitCast(d, power), hn::Set(d, kScale));
  const auto rounded = hn::Sub(hn::Add(value, grid), grid);
  return hn::CopySign(rounded, value);
}

template <typename Format>
HWY_NOINLINE void round_narrow(const double* high, std::uint32_t count, std::uint32_t divisor,
                               std::byte* out) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  using Bits = typename Format::Bits;
  const std::uint32_t lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto n = hn::Set(d, static_cast<double>(divisor));
  const auto nan = hn::Set(df, std::bit_cast<float>(F32::kQuietNan));
  std::uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    // 0 makes +0 of -0.
    auto value = hn::Add(hn::LoadU(d, high + i), hn::Zero(d));
    if (divisor > 1) value = hn::Div(value, n);
    if constexpr (Format::kWidth == 16) {
      value = hn::IfThenElse(hn::IsFinite(value), on_grid<Format>(value), value);
    }
    const auto narrow = hn::DemoteTo(df, value);
    const auto clean = hn::IfThenElse(hn::IsNaN(narrow), nan, narrow);
    store_floats<Format, true>(df, clean, reinterpret_cast<Bits*>(out) + i);
  }
  const std::size_t done_bytes = std::size_t{i} * sizeof(Bits);
  core::scalar_exact_arithmetic(Format::kDtype)
      .round(high + i, nullptr, count - i, divisor, out + done_bytes);
}

template <typename Format>
void round(const double* high, const double* low, std::uint32_t count, std::uint32_t divisor,
           std::byte* out) {
  if (low == nullptr) {
    const FpGuard guard;
    round_narrow<Format>(high, count, divisor, out);
    return;
  }
  // Even in such a sum, most elements have a second double of 0.
  constexpr std::uint32_t kTogether = 8;
  for (std::uint32_t i = 0; i < count; i += kTogether) {
    const std::uint32_t size = std::min(kTogether, count - i);
    bool is_narrow = true;
    for (std::uint32_t j = 0; j < size; ++j) is_narrow &= low[i + j] == 0;
    std::byte* const to = out + std::size_t{i} * sizeof(typename Format::Bits);
    if (is_narrow) {
      const FpGuard guard;
      round_narrow<Format>(high + i, size, divisor, to);
    } else {
      core::scalar_exact_arithmetic(Format::kDtype).round(high + i, low + i, size, divisor, to);
    }
  }
}

// The processor's sum of the two doubles is already correctly rounded. A mean is correctly rounded
// if the error of its quotient cannot change the rounding. That error is known to within one part
// in 2^49.
HWY_NOINLINE void round_f64(const double* high, const double* low, std::uint32_t count,
                            std::uint32_t divisor, std::byte* out) {
  const hn::ScalableTag<double> d;
  const std::uint32_t lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  // Without fused instructions, the scalar code below takes the mean.
  [[maybe_unused]] const auto n = hn::Set(d, static_cast<double>(divisor));
  const auto nan = hn::Set(d, std::bit_cast<double>(F64::kQuietNan));
  const ExactArithmetic& scalar = core::scalar_exact_arithmetic(core::DataType::f64);
  auto* const to = reinterpret_cast<double*>(out);
  const FpGuard guard;
  std::uint32_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto large = hn::LoadU(d, high + i);
    const auto small = low == nullptr ? hn::Zero(d) : hn::LoadU(d, low + i);
    const auto sum = hn::Add(large, small);
    if (divisor == 1) {
      const auto value = hn::IfThenElse(hn::IsFinite(large), sum, large);
      hn::StoreU(hn::IfThenElse(hn::IsNaN(value), nan, value), d, to + i);
      continue;
    }
#if !HWY_NATIVE_FMA
    scalar.round(high + i, low == nullptr ? nullptr : low + i, lanes, divisor, out + i * 8);
#else
    const auto of_small = hn::Sub(sum, large);
    const auto of_large = hn::Sub(sum, of_small);
    const auto error = hn::Add(hn::Sub(large, of_large), hn::Sub(small, of_small));
    const auto quotient = hn::Div(sum, n);
    const auto rest = hn::Div(hn::Add(hn::NegMulAdd(quotient, n, sum), error), n);
    const auto margin = hn::Mul(rest, hn::Set(d, 0x1p-49));
    const auto least = hn::Add(quotient, hn::Sub(rest, margin));
    const auto most = hn::Add(quotient, hn::Add(rest, margin));
    const auto is_sure =
        hn::And(hn::And(hn::Eq(least, most), hn::Ge(hn::Abs(sum), hn::Set(d, 0x1p-900))),
                hn::Le(hn::Abs(sum), hn::Set(d, 0x1p1000)));
    if (hn::AllTrue(d, is_sure)) {
      hn::StoreU(least, d, to + i);
    } else {
      scalar.round(high + i, low == nullptr ? nullptr : low + i, lanes, divisor, out + i * 8);
    }
#endif
  }
  scalar.round(high + i, low == nullptr ? nullptr : low + i, count - i, divisor, out + i * 8);
}

template <typename Format>
constexpr ExactArithmetic kExact = {begin<Format>, add<Format>,      add_two<Format>,
                                    nullptr,       add_both<Format>, round<Format>};
template <>
constexpr ExactArithmetic kExact<F32> = {begin<F32>,   add<F32>,      add_two<F32>,
                                         sum_two<F32>, add_both<F32>, round<F32>};
template <>
constexpr ExactArithmetic kExact<F64> = {begin<F64>,   add<F64>,      add_two<F64>,
                                         sum_two<F64>, add_both<F64>, round_f64};

#endif  // INFOLD_VECTOR_BLOCKS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif  // INFOLD_NUMERIC_VECTOR_EXACT_INL_H_
