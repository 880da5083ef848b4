// SPDX-License-Identifier: Apache-2.0
//
// The loops that compress a tensor (numeric/codes/code_loops.h), in vectors. Elements after the
// last whole vector, and the last group of lanes, go to the scalar loops.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numeric/vector/vector_codes.cc"
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "numeric/codes/code_loops.h"
#include "numeric/codes/counter_bits.h"
#include "numeric/vector/vector_floats-inl.h"
#include "numeric/vector/vector_sets.h"

#ifndef INFOLD_NUMERIC_PLACES_OF_BITS
#define INFOLD_NUMERIC_PLACES_OF_BITS
namespace infold::numeric {
namespace {

// For each byte, the numbers of its set bits, ascending. Scalar loops do not need this table.
[[maybe_unused]] constexpr auto kPlacesOfBits = [] {
  std::array<std::array<std::uint8_t, 8>, 256> places{};
  for (std::size_t byte = 0; byte < places.size(); ++byte) {
    std::size_t count = 0;
    for (std::uint8_t bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) != 0) places[byte][count++] = bit;
    }
  }
  return places;
}();

}  // namespace
}  // namespace infold::numeric
#endif  // INFOLD_NUMERIC_PLACES_OF_BITS

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if !INFOLD_VECTOR_BLOCKS

const CodeLoops* choose_codes() { return &scalar_code_loops(); }

#else

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using BitsTag = hn::RebindToUnsigned<FloatTag>;
constexpr std::size_t kFloats = hn::MaxLanes(FloatTag());
static_assert(kFloats <= kGroupIntegers);

HWY_INLINE hn::Vec<IntTag> magnitudes_at(const float* x) {
  const IntTag d;
  return hn::And(hn::LoadU(d, reinterpret_cast<const std::int32_t*>(x)), hn::Set(d, 0x7FFFFFFF));
}

float find_largest(const float* x, std::size_t count) {
  const IntTag d;
  auto most = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kFloats <= count; i += kFloats) most = hn::Max(most, magnitudes_at(x + i));
  const auto key = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(d, most)));
  return std::max(magnitude_of(std::min(key, kInfinityKey)),
                  scalar_code_loops().find_largest(x + i, count - i));
}

// Eight sums, in as many vectors as they need, so that all instruction sets add in the same order.
using SumTag = hn::CappedTag<double, 8>;
constexpr std::size_t kSums = 8;
constexpr std::size_t kSumVectors = kSums / hn::MaxLanes(SumTag());

MagnitudeSums sum_magnitudes(const float* x, std::size_t count, float shift) {
  const SumTag d;
  const hn::Rebind<float, SumTag> narrow;
  const hn::RebindToSigned<SumTag> whole;
  const auto base = hn::Set(d, double{shift});
  std::array<hn::Vec<SumTag>, kSumVectors> sums;
  std::array<hn::Vec<SumTag>, kSumVectors> squares;
  sums.fill(hn::Zero(d));
  squares.fill(hn::Zero(d));
  auto counted = hn::Zero(whole);
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::size_t k = 0; k < kSumVectors; ++k) {
      const auto value = hn::PromoteTo(d, hn::LoadU(narrow, x + i + k * hn::Lanes(d)));
      const auto over = hn::Sub(hn::Abs(value), base);
      const auto left_out = hn::Le(over, hn::Zero(d));
      const auto taken = hn::IfThenZeroElse(left_out, over);
      sums[k] = hn::Add(sums[k], taken);
      squares[k] = hn::Add(squares[k], hn::Mul(taken, taken));
      counted = hn::Add(counted, hn::VecFromMask(whole, hn::RebindMask(whole, left_out)));
    }
  }
  std::array<double, kSums> sum;
  std::array<double, kSums> square;
  for (std::size_t k = 0; k < kSumVectors; ++k) {
    hn::StoreU(sums[k], d, sum.data() + k * hn::Lanes(d));
    hn::StoreU(squares[k], d, square.data() + k * hn::Lanes(d));
  }
  // A lane of a true mask is -1.
  MagnitudeSums all;
  all.count = i + static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(whole, counted)));
  for (std::size_t k = 0; i < count; ++i, ++k) {
    const double over = double{std::abs(x[i])} - double{shift};
    if (over <= 0) continue;
    sum[k] += over;
    square[k] += over * over;
    ++all.count;
  }
  all.sum = std::accumulate(sum.begin(), sum.end(), 0.0);
  all.squares = std::accumulate(square.begin(), square.end(), 0.0);
  return all;
}

// Tests which elements' keys are at least a value.
class KeyTest {
 public:
  KeyTest(std::uint32_t least, Side side)
      : least_(hn::Set(IntTag(), static_cast<std::int32_t>(least))),
        of_rest_(hn::Set(IntTag(), static_cast<std::int32_t>(SideKeys(side).of_rest()))),
        of_negative_(hn::Set(IntTag(), static_cast<std::int32_t>(SideKeys(side).of_negative()))) {}

  HWY_INLINE hn::Mask<IntTag> operator()(const float* x) const {
    const IntTag d;
    const auto bits = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(x));
    const auto magnitude = hn::And(bits, hn::Set(d, 0x7FFFFFFF));
    const auto key = hn::Min(magnitude, hn::Set(d, static_cast<std::int32_t>(kNanKey)));
    const auto kept = hn::IfVecThenElse(hn::BroadcastSignBit(bits), of_negative_, of_rest_);
    return hn::Not(hn::Lt(hn::And(key, kept), least_));
  }

 private:
  hn::Vec<IntTag> least_;
  hn::Vec<IntTag> of_rest_;
  hn::Vec<IntTag> of_negative_;
};

std::size_t count_from(const float* x, std::size_t count, std::uint32_t least, Side side) {
  const KeyTest test(least, side);
  std::size_t found = 0;
  std::size_t i = 0;
  for (; i + kFloats <= count; i += kFloats) found += hn::CountTrue(IntTag(), test(x + i));
  return found + scalar_code_loops().count_from(x + i, count - i, least, side);
}

using PlaceTag = hn::CappedTag<std::uint32_t, 8>;
constexpr std::size_t kPlaces = hn::MaxLanes(PlaceTag());

// Writes first + i for each set bit i of the mask. It may always write eight integers. Highway's
// own compression is not used, because g++ compiles it so that each call copies a table.
HWY_INLINE std::size_t write_places(std::uint8_t mask, std::uint32_t first, std::uint32_t* to) {
  const PlaceTag d;
  const hn::Rebind<std::uint8_t, PlaceTag> narrow;
  const auto base = hn::Set(d, first);
  for (std::size_t i = 0; i < 8; i += kPlaces) {
    const auto places = hn::PromoteTo(d, hn::LoadU(narrow, kPlacesOfBits[mask].data() + i));
    hn::StoreU(hn::Add(base, places), d, to + i);
  }
  return static_cast<std::size_t>(std::popcount(mask));
}

// Most vectors have no element to keep, so several vectors are tested at once.
std::size_t find_from(const float* x, std::size_t count, std::uint32_t least, Side side,
                      std::uint32_t first, std::uint32_t* indices) {
  const IntTag d;
  constexpr std::size_t kTogether = 32;
  const KeyTest test(least, side);
  std::size_t found = 0;
  std::size_t i = 0;
  for (; i + kTogether <= count; i += kTogether) {
    std::uint32_t mask = 0;
    for (std::size_t k = 0; k < kTogether; k += kFloats) {
      std::array<std::uint8_t, 8> bits{};
      hn::StoreMaskBits(d, test(x + i + k), bits.data());
      mask |= (bits[0] | std::uint32_t{bits[1]} << 8) << k;
    }
    if (mask == 0) continue;
    for (std::uint32_t k = 0; k < kTogether; k += 8) {
      found += write_places(static_cast<std::uint8_t>(mask >> k),
                            first + static_cast<std::uint32_t>(i) + k, indices + found);
    }
  }
  return found + scalar_code_loops().find_from(x + i, count - i, least, side,
                                               first + static_cast<std::uint32_t>(i),
                                               indices + found);
}

// Random bits for indices that have the same high 32 bits.
class Randoms {
 public:
  explicit Randoms(const Draws& draws) {
    const CounterKey key = CounterKey::of(draws.key, draws.first);
    first_ = hn::Set(BitsTag(), key.first);
    second_ = hn::Set(BitsTag(), key.second);
  }

  HWY_INLINE hn::Vec<BitsTag> operator()(std::uint64_t index) const {
    const BitsTag d;
    const auto low = hn::Set(d, static_cast<std::uint32_t>(index));
    auto value = hn::Xor(hn::Add(low, lanes_), first_);
    value = hn::Mul(hn::Xor(value, hn::ShiftRight<16>(value)), hn::Set(d, kCounterFactors[0]));
    value = hn::Add(value, second_);
    value = hn::Mul(hn::Xor(value, hn::ShiftRight<15>(value)), hn::Set(d, kCounterFactors[1]));
    return hn::Xor(value, hn::ShiftRight<16>(value));
  }

 private:
  // Kept here, because some versions of Highway build it in memory each time.
  const hn::Vec<BitsTag> lanes_ = hn::Iota(BitsTag(), 0);
  hn::Vec<BitsTag> first_;
  hn::Vec<BitsTag> second_;
};

// Returns how many elements vectors may handle. It is 0 if the high bits of their indices differ.
std::size_t vector_elements(std::size_t count, const Draws& draws) {
  const std::size_t whole = count / kFloats * kFloats;
  return whole > 0 && draws.first >> 32 == (draws.first + whole - 1) >> 32 ? whole : 0;
}

void quantise(const float* x, std::size_t count, const Steps& steps, const Draws& draws,
              std::uint32_t* codes) {
  const FloatTag d;
  const IntTag di;
  const BitsTag du;
  const auto divisor = hn::Set(d, steps.divisor);
  const auto factor = hn::Set(d, steps.factor);
  const auto zero = hn::Set(d, steps.zero);
  const auto most = hn::Set(d, steps.most);
  const auto unit = hn::Set(d, 0x1.0p-24F);
  const Randoms randoms(draws);
  const std::size_t whole = vector_elements(count, draws);
  for (std::size_t i = 0; i < whole; i += kFloats) {
    const auto ratio = hn::Div(hn::LoadU(d, x + i), divisor);
    const auto place = hn::Add(hn::Mul(ratio, factor), zero);
    const auto bits = hn::BitCast(di, hn::ShiftRight<8>(randoms(draws.first + i)));
    const auto drawn = hn::Add(place, hn::Mul(hn::ConvertTo(d, bits), unit));
    const auto code = hn::ConvertTo(di, hn::Min(hn::Max(drawn, hn::Zero(d)), most));
    hn::StoreU(hn::BitCast(du, code), du, codes + i);
  }
  scalar_code_loops().quantise(x + whole, count - whole, steps, {draws.key, draws.first + whole},
                               codes + whole);
}

void vote(const float* x, std::size_t count, std::uint32_t* codes) {
  const FloatTag d;
  const BitsTag du;
  std::size_t i = 0;
  for (; i + kFloats <= count; i += kFloats) {
    const auto minus = hn::RebindMask(du, hn::Lt(hn::LoadU(d, x + i), hn::Zero(d)));
    hn::StoreU(hn::IfThenZeroElse(minus, hn::Set(du, 1)), du, codes + i);
  }
  scalar_code_loops().vote(x + i, count - i, codes + i);
}

void pack(const std::uint32_t* codes, std::size_t count, std::uint32_t width,
          std::uint32_t* integers) {
  const BitsTag d;
  const std::size_t group = codes_of_group(width);
  std::size_t first = 0;
  for (; first + group <= count; first += group, integers += kGroupIntegers) {
    for (std::size_t i = 0; i < kGroupIntegers; i += kFloats) {
      auto all = hn::LoadU(d, codes + first + i);
      for (std::size_t lane = 1; lane < lanes_of_integer(width); ++lane) {
        const auto code = hn::LoadU(d, codes + first + lane * kGroupIntegers + i);
        all = hn::Or(all, hn::ShiftLeftSame(code, static_cast<int>(lane * width)));
      }
      hn::StoreU(all, d, integers + i);
    }
  }
  scalar_code_loops().pack(codes + first, count - first, width, integers);
}

void unpack(const std::uint32_t* integers, std::size_t count, std::uint32_t width,
            std::uint32_t* codes) {
  const BitsTag d;
  const auto mask = hn::Set(d, static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1));
  const std::size_t group = codes_of_group(width);
  std::size_t first = 0;
  for (; first + group <= count; first += group, integers += kGroupIntegers) {
    for (std::size_t i = 0; i < kGroupIntegers; i += kFloats) {
      const auto all = hn::LoadU(d, integers + i);
      for (std::size_t lane = 0; lane < lanes_of_integer(width); ++lane) {
        const auto code = hn::ShiftRightSame(all, static_cast<int>(lane * width));
        hn::StoreU(hn::And(code, mask), d, codes + first + lane * kGroupIntegers + i);
      }
    }
  }
  scalar_code_loops().unpack(integers, count - first, width, codes + first);
}

// Vectors convert only signed integers to doubles, so codes are shifted by 2^31.
void restore(const std::uint32_t* codes, std::size_t count, double zero, double unit, float* x) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  const hn::Rebind<std::uint32_t, decltype(d)> du;
  const hn::Rebind<float, decltype(d)> df;
  const auto moved_zero = hn::Set(d, zero - 0x1.0p31);
  const auto factor = hn::Set(d, unit);
  const auto top_bit = hn::Set(du, 0x80000000U);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto code = hn::BitCast(di, hn::Xor(hn::LoadU(du, codes + i), top_bit));
    const auto value = hn::Mul(hn::Sub(hn::PromoteTo(d, code), moved_zero), factor);
    hn::StoreU(hn::DemoteTo(df, value), df, x + i);
  }
  scalar_code_loops().restore(codes + i, count - i, zero, unit, x + i);
}

using TransformTag = hn::CappedTag<float, 8>;
constexpr std::size_t kTransformed = hn::MaxLanes(TransformTag());

// Returns the sign bit in the lanes whose number has this bit.
hn::Vec<TransformTag> signs_of(std::size_t bit) {
  std::array<std::uint32_t, kTransformed> signs;
  for (std::size_t i = 0; i < kTransformed; ++i) signs[i] = (i & bit) != 0 ? 0x80000000U : 0;
  const TransformTag d;
  return hn::BitCast(d, hn::LoadU(hn::RebindToUnsigned<TransformTag>(), signs.data()));
}

// Does the stages whose pairs lie in one vector.
void transform_within(float* x, std::size_t count) {
  const TransformTag d;
  const auto odd = signs_of(1);
  const auto second = signs_of(2);
  const auto upper = signs_of(4);
  for (std::size_t i = 0; i < count; i += kTransformed) {
    auto v = hn::LoadU(d, x + i);
    v = hn::Add(hn::Shuffle2301(v), hn::Xor(v, odd));
    v = hn::Add(hn::Shuffle1032(v), hn::Xor(v, second));
    if constexpr (kTransformed == 8) {
      v = hn::Add(hn::ConcatLowerUpper(d, v, v), hn::Xor(v, upper));
    }
    hn::StoreU(v, d, x + i);
  }
}

// Does the stages with pairs `half` and 2 * half apart together, so that x is read and written only
// once.
void transform_two_stages(float* x, std::size_t count, std::size_t half) {
  const TransformTag d;
  for (std::size_t begin = 0; begin < count; begin += 4 * half) {
    float* const at = x + begin;
    for (std::size_t i = 0; i < half; i += kTransformed) {
      const auto a = hn::LoadU(d, at + i);
      const auto b = hn::LoadU(d, at + i + half);
      const auto e = hn::LoadU(d, at + i + 2 * half);
      const auto f = hn::LoadU(d, at + i + 3 * half);
      const auto low_sum = hn::Add(a, b);
      const auto low_rest = hn::Sub(a, b);
      const auto high_sum = hn::Add(e, f);
      const auto high_rest = hn::Sub(e, f);
      hn::StoreU(hn::Add(low_sum, high_sum), d, at + i);
      hn::StoreU(hn::Add(low_rest, high_rest), d, at + i + half);
      hn::StoreU(hn::Sub(low_sum, high_sum), d, at + i + 2 * half);
      hn::StoreU(hn::Sub(low_rest, high_rest), d, at + i + 3 * half);
    }
  }
}

void transform_stage(float* x, std::size_t count, std::size_t half) {
  const TransformTag d;
  for (std::size_t begin = 0; begin < count; begin += 2 * half) {
    float* const at = x + begin;
    for (std::size_t i = 0; i < half; i += kTransformed) {
      const auto low = hn::LoadU(d, at + i);
      const auto high = hn::LoadU(d, at + i + half);
      hn::StoreU(hn::Add(low, high), d, at + i);
      hn::StoreU(hn::Sub(low, high), d, at + i + half);
    }
  }
}

void transform(float* x, std::size_t count) {
  if (count < kTransformed) return scalar_code_loops().transform(x, count);
  const TransformTag d;
  transform_within(x, count);
  std::size_t half = kTransformed;
  for (; 4 * half <= count; half *= 4) transform_two_stages(x, count, half);
  if (2 * half <= count) transform_stage(x, count, half);
  const auto factor = hn::Set(d, static_cast<float>(1 / std::sqrt(static_cast<double>(count))));
  for (std::size_t i = 0; i < count; i += kTransformed) {
    hn::StoreU(hn::Mul(hn::LoadU(d, x + i), factor), d, x + i);
  }
}

void flip(float* x, std::size_t count, const Draws& draws) {
  const FloatTag d;
  const Randoms randoms(draws);
  const std::size_t whole = vector_elements(count, draws);
  for (std::size_t i = 0; i < whole; i += kFloats) {
    const auto sign = hn::BitCast(d, hn::ShiftLeft<31>(randoms(draws.first + i)));
    hn::StoreU(hn::Xor(hn::LoadU(d, x + i), sign), d, x + i);
  }
  scalar_code_loops().flip(x + whole, count - whole, {draws.key, draws.first + whole});
}

const CodeLoops* choose_codes() {
  static constexpr CodeLoops kLoops = {find_largest, sum_magnitudes, count_from, find_from,
                                       quantise,     vote,           pack,       unpack,
                                       restore,      transform,      flip};
  return &kLoops;
}

#endif  // INFOLD_VECTOR_BLOCKS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace infold::numeric {
HWY_EXPORT(choose_codes);
const CodeLoops* chosen_codes() { return HWY_DYNAMIC_DISPATCH(choose_codes)(); }
}  // namespace infold::numeric
#endif
