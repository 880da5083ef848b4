// SPDX-License-Identifier: Apache-2.0
//
// The aggregator's arithmetic in vectors. core/arithmetic.cc says what it computes; every loop
// here hands its odd tail, and every block outside the plain case, to that file's loops.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/vector_arithmetic.cc"
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "core/arithmetic.h"
#include "numeric/vector_sets.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

const core::Arithmetic* make_arithmetic() { return &core::scalar_arithmetic(); }

#else

namespace hn = hwy::HWY_NAMESPACE;

template <typename Int>
constexpr std::size_t kIndex = std::bit_width(sizeof(Int)) - 1;

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

template <typename D, typename Int>
HWY_INLINE hn::VFromD<D> load_lanes(D d, const Int* mantissas) {
  const hn::Rebind<Int, D> narrow;
  if constexpr (sizeof(Int) == 8) {
    return hn::LoadU(d, mantissas);
  } else if constexpr (sizeof(Int) == 4) {
    return hn::PromoteTo(d, hn::LoadU(narrow, mantissas));
  } else {
    const hn::Rebind<std::int32_t, D> middle;
    return hn::PromoteTo(d, hn::PromoteTo(middle, hn::LoadU(narrow, mantissas)));
  }
}

// Shifts by a count that is the same in all lanes. One instruction each where lanes have counts of
// their own, and two where only the vector has.
#if HWY_TARGET <= HWY_AVX2
template <typename D>
using Count = hn::VFromD<D>;
template <typename D>
HWY_INLINE Count<D> make_count(D d, int bits) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(bits));
}
template <typename V>
HWY_INLINE V shift_left(V value, V count) {
  return hn::Shl(value, count);
}
template <typename V>
HWY_INLINE V shift_right(V value, V count) {
  return hn::Shr(value, count);
}
#else
template <typename D>
using Count = int;
template <typename D>
HWY_INLINE int make_count(D, int bits) {
  return bits;
}
template <typename V>
HWY_INLINE V shift_left(V value, int count) {
  return hn::ShiftLeftSame(value, count);
}
template <typename V>
HWY_INLINE V shift_right(V value, int count) {
  return hn::ShiftRightSame(value, count);
}
#endif

// The whole vectors of one block, `count` elements of it; returns how many elements that was.
template <typename Int>
HWY_INLINE std::uint32_t accumulate_block(std::int64_t* HWY_RESTRICT lanes,
                                          const Int* HWY_RESTRICT mantissas, std::uint32_t count,
                                          core::BlockStep step) {
  const hn::ScalableTag<std::int64_t> d;
  const auto width = static_cast<std::uint32_t>(hn::Lanes(d));
  const Count<decltype(d)> lane_shift = make_count(d, step.lane_shift);
  const Count<decltype(d)> mantissa_shift = make_count(d, step.mantissa_shift);
  std::uint32_t i = 0;
  if (step.action == core::BlockStep::Action::store) {
    for (; i + width <= count; i += width) hn::StoreU(load_lanes(d, mantissas + i), d, lanes + i);
  } else if (step.lane_shift == 0) {  // an aggregator moves either the lanes or the mantissas
    for (; i + width <= count; i += width) {
      const auto added = shift_left(load_lanes(d, mantissas + i), mantissa_shift);
      hn::StoreU(hn::Add(hn::LoadU(d, lanes + i), added), d, lanes + i);
    }
  } else {
    for (; i + width <= count; i += width) {
      const auto lane = shift_left(hn::LoadU(d, lanes + i), lane_shift);
      const auto added = shift_left(load_lanes(d, mantissas + i), mantissa_shift);
      hn::StoreU(hn::Add(lane, added), d, lanes + i);
    }
  }
  return i;
}

template <typename Int>
void accumulate(std::int64_t* lanes, const std::byte* mantissas, std::uint32_t count,
                std::uint32_t block_elements, const core::BlockStep* steps) {
  const auto* source = reinterpret_cast<const Int*>(mantissas);
  for (std::uint32_t first = 0; first < count; first += block_elements, ++steps) {
    if (steps->action == core::BlockStep::Action::skip) continue;
    if (block_elements == 32 && count - first >= 32) {  // so that the compiler knows the length
      accumulate_block(lanes + first, source + first, 32, *steps);
      continue;
    }
    const std::uint32_t size = std::min(block_elements, count - first);
    const std::uint32_t done = accumulate_block(lanes + first, source + first, size, *steps);
    if (done == size) continue;
    core::scalar_arithmetic().accumulate[kIndex<Int>](lanes + first + done,
                                                      mantissas + (first + done) * sizeof(Int),
                                                      size - done, block_elements, steps);
  }
}

using Lanes = hn::ScalableTag<std::int64_t>;
using Magnitudes = hn::ScalableTag<std::uint64_t>;

// The most negative lane has no positive twin, but read as unsigned it is its own magnitude.
HWY_INLINE hn::VFromD<Magnitudes> magnitude(hn::VFromD<Lanes> lane) {
#if HWY_TARGET <= HWY_AVX3
  return hn::BitCast(Magnitudes(), hn::Abs(lane));
#else
  const auto sign = hn::BroadcastSignBit(lane);
  return hn::BitCast(Magnitudes(), hn::Sub(hn::Xor(lane, sign), sign));
#endif
}

HWY_INLINE std::uint64_t largest_magnitude(const std::int64_t* lanes, std::uint32_t count) {
  const Lanes d;
  auto largest = hn::Zero(Magnitudes());
  for (std::uint32_t i = 0; i < count; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    largest = hn::Max(largest, magnitude(hn::LoadU(d, lanes + i)));
  }
  return hn::GetLane(hn::MaxOfLanes(Magnitudes(), largest));
}

template <typename Int, typename V>
HWY_INLINE void store_low(V value, Int* at) {
  using Unsigned = std::make_unsigned_t<Int>;
  const hn::Rebind<Unsigned, Magnitudes> narrow;
  const auto low = hn::TruncateTo(narrow, hn::BitCast(Magnitudes(), value));
  hn::StoreU(low, narrow, reinterpret_cast<Unsigned*>(at));
}

// Divides lanes below 2^51 by 2^shift in doubles: next to 1.5 * 2^52 the last place is one, so that
// adding and subtracting it converts from and to integers, the latter to nearest, ties to even.
template <typename Int>
HWY_INLINE void scale_small_block(const std::int64_t* HWY_RESTRICT lanes, std::uint32_t count,
                                  std::int32_t shift, Int* HWY_RESTRICT mantissas) {
  const Lanes d;
  const hn::ScalableTag<double> df;
  const auto one = hn::Set(df, 0x1.8p52);
  const auto scale =
      hn::Set(df, std::bit_cast<double>(static_cast<std::uint64_t>(1023 - shift) << 52));
  for (std::uint32_t i = 0; i < count; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const auto lane = hn::LoadU(d, lanes + i);
    const auto value = hn::Sub(hn::BitCast(df, hn::Add(lane, hn::BitCast(d, one))), one);
    store_low(hn::MulAdd(value, scale, one), mantissas + i);  // the product is exact
  }
}

// The same for lanes of any size, in integers; a negative shift multiplies.
template <typename Int>
HWY_INLINE void scale_block(const std::int64_t* HWY_RESTRICT lanes, std::uint32_t count,
                            std::int32_t shift, Int* HWY_RESTRICT mantissas) {
  const Lanes d;
  const Magnitudes du;
  const auto one = hn::Set(du, 1);
  const auto below_half =
      hn::Set(du, shift > 0 ? (std::uint64_t{1} << (shift - 1)) - 1 : std::uint64_t{0});
  const Count<Magnitudes> down = make_count(du, std::max(shift, 0));
  const Count<Magnitudes> up = make_count(du, std::max(-shift, 0));
  for (std::uint32_t i = 0; i < count; i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const auto lane = hn::LoadU(d, lanes + i);
    auto value = magnitude(lane);
    if (shift > 0) {
      const auto odd = hn::And(shift_right(value, down), one);
      value = shift_right(hn::Add(hn::Add(value, below_half), odd), down);
    } else {
      value = shift_left(value, up);
    }
    const auto rounded = hn::BitCast(d, value);
    store_low(hn::IfThenElse(hn::Lt(lane, hn::Zero(d)), hn::Neg(rounded), rounded), mantissas + i);
  }
}

// One whole block; false if its code is not within the plain range, and nothing is written.
template <typename Int>
HWY_INLINE bool encode_block(const std::int64_t* lanes, std::uint32_t count,
                             core::ElementLayout layout, std::int32_t lane_code,
                             std::uint16_t* code, Int* mantissas) {
  const std::uint64_t largest = lane_code == 0 ? 0 : largest_magnitude(lanes, count);
  if (largest == 0) {
    *code = 0;
    std::memset(mantissas, 0, count * sizeof(Int));
    return true;
  }
  std::int32_t shift =
      static_cast<std::int32_t>(std::bit_width(largest)) - 1 - layout.mantissa_top_bit();
  if (shift >= 0) {
    // Above this the largest rounds past the limit; the tie itself goes to the limit, it is even.
    const auto limit = static_cast<std::uint64_t>(layout.mantissa_limit());
    const std::uint64_t highest = (limit << shift) + (std::uint64_t{1} << shift >> 1);
    if (largest > highest) ++shift;
  }
  const std::int32_t result = lane_code + shift;
  if (result < 1 || result >= layout.exponent_code_max()) return false;
  *code = static_cast<std::uint16_t>(result);
  if (largest < std::uint64_t{1} << 51) {
    scale_small_block(lanes, count, shift, mantissas);
  } else {
    scale_block(lanes, count, shift, mantissas);
  }
  return true;
}

template <typename Int>
bool encode(const std::int64_t* lanes, std::uint32_t count, core::ElementLayout layout,
            const std::uint16_t* lane_codes, std::uint16_t* codes, std::byte* mantissas) {
  bool overflowed = false;
  const std::uint32_t block_elements = layout.block_elements();
  for (std::uint32_t first = 0; first < count; first += block_elements) {
    const std::uint32_t size = std::min(block_elements, count - first);
    std::byte* target = mantissas + first * sizeof(Int);
    const bool plain =
        size == block_elements && encode_block(lanes + first, size, layout, *lane_codes, codes,
                                               reinterpret_cast<Int*>(target));
    if (!plain) {
      overflowed |= core::scalar_arithmetic().encode[kIndex<Int>](lanes + first, size, layout,
                                                                  lane_codes, codes, target);
    }
    ++lane_codes;
    ++codes;
  }
  return overflowed;
}

constexpr core::Arithmetic kArithmetic = {
    .sum = {combine<Sum, std::int8_t>, combine<Sum, std::int16_t>, combine<Sum, std::int32_t>,
            combine<Sum, std::int64_t>},
    .min = {combine<Min, std::int8_t>, combine<Min, std::int16_t>, combine<Min, std::int32_t>,
            combine<Min, std::int64_t>},
    .max = {combine<Max, std::int8_t>, combine<Max, std::int16_t>, combine<Max, std::int32_t>,
            combine<Max, std::int64_t>},
    .accumulate = {accumulate<std::int8_t>, accumulate<std::int16_t>, accumulate<std::int32_t>,
                   accumulate<std::int64_t>},
    .encode = {encode<std::int8_t>, encode<std::int16_t>, encode<std::int32_t>},
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
