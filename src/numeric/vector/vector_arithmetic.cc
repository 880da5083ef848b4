// SPDX-License-Identifier: Apache-2.0
//
// The aggregator's arithmetic in vectors: the loops over plain integers, and the table of all
// functions. Elements that do not fill a vector go to core/aggregator/arithmetic.cc.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/vector/vector_arithmetic.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/aggregator/arithmetic.h"
#include "numeric/vector/vector_exact-inl.h"
#include "numeric/vector/vector_lanes-inl.h"
#include "numeric/vector/vector_reencode-inl.h"
#include "numeric/vector/vector_sets.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

const core::Arithmetic* make_arithmetic() { return &core::scalar_arithmetic(); }

#else

struct Sum {
  static constexpr auto kTable = &core::Arithmetic::sum;
  template <typename V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Add(a, b);
  }
};
struct Min {
  static constexpr auto kTable = &core::Arithmetic::min;
  template <typename V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Min(a, b);
  }
};
struct Max {
  static constexpr auto kTable = &core::Arithmetic::max;
  template <typename V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Max(a, b);
  }
};
struct BitOr {
  static constexpr auto kTable = &core::Arithmetic::bit_or;
  template <typename V>
  static HWY_INLINE V apply(V a, V b) {
    return hn::Or(a, b);
  }
};

template <typename Op, typename Int>
void combine(std::byte* into, const std::byte* elements, std::uint32_t count) {
  const hn::ScalableTag<Int> d;
  const std::size_t lanes = hn::Lanes(d);
  auto* a = reinterpret_cast<Int*>(into);
  const auto* b = reinterpret_cast<const Int*>(elements);
  std::size_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const auto first = Op::apply(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
    const auto second = Op::apply(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes));
    hn::StoreU(first, d, a + i);
    hn::StoreU(second, d, a + i + lanes);
  }
  const std::size_t done_bytes = i * sizeof(Int);
  (core::scalar_arithmetic().*Op::kTable)[kIndex<Int>](into + done_bytes, elements + done_bytes,
                                                       count - static_cast<std::uint32_t>(i));
}

// If the processor lacks the instruction, Highway's conversion treats infinities and NaN of f16 as
// numbers.
#if !INFOLD_VECTOR_BLOCKS
constexpr const core::ExactArithmetic* kExactOf[] = {
    &core::kScalarExact[0], &core::kScalarExact[1], &core::kScalarExact[2], &core::kScalarExact[3]};
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
constexpr const core::ExactArithmetic* kExactOf[] = {&kExact<F32>, &core::kScalarExact[1],
                                                     &kExact<Bf16>, &kExact<F64>};
#else
constexpr const core::ExactArithmetic* kExactOf[] = {&kExact<F32>, &kExact<F16>, &kExact<Bf16>,
                                                     &kExact<F64>};
#endif

constexpr core::Arithmetic kArithmetic = {
    .sum = {combine<Sum, std::int8_t>, combine<Sum, std::int16_t>, combine<Sum, std::int32_t>,
            combine<Sum, std::int64_t>},
    .min = {combine<Min, std::int8_t>, combine<Min, std::int16_t>, combine<Min, std::int32_t>,
            combine<Min, std::int64_t>},
    .max = {combine<Max, std::int8_t>, combine<Max, std::int16_t>, combine<Max, std::int32_t>,
            combine<Max, std::int64_t>},
    .bit_or = {combine<BitOr, std::int8_t>, combine<BitOr, std::int16_t>,
               combine<BitOr, std::int32_t>, combine<BitOr, std::int64_t>},
    .plan = plan,
    .accumulate = {{accumulate<std::int16_t, std::int8_t>},
                   {accumulate<std::int32_t, std::int8_t>, accumulate<std::int32_t, std::int16_t>},
                   {accumulate<std::int64_t, std::int8_t>, accumulate<std::int64_t, std::int16_t>,
                    accumulate<std::int64_t, std::int32_t>,
                    accumulate<std::int64_t, std::int64_t>}},
    .encode = {{encode<std::int16_t, std::int8_t>},
               {encode<std::int32_t, std::int8_t>, encode<std::int32_t, std::int16_t>},
               {encode<std::int64_t, std::int8_t>, encode<std::int64_t, std::int16_t>,
                encode<std::int64_t, std::int32_t>}},
    .exact = {kExactOf[0], kExactOf[1], kExactOf[2], kExactOf[3]},
    .widen = {widen<std::int16_t, std::int32_t>, widen<std::int32_t, std::int64_t>},
};

const core::Arithmetic* make_arithmetic() { return &kArithmetic; }

#endif  // HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace infold::numeric {
HWY_EXPORT(make_arithmetic);
const core::Arithmetic& chosen_arithmetic() { return *HWY_DYNAMIC_DISPATCH(make_arithmetic)(); }
}  // namespace infold::numeric
#endif
