// SPDX-License-Identifier: Apache-2.0
//
// Finds the largest magnitudes of blocks, and of groups of blocks that are reduced together, once
// per instruction set.
#if defined(INFOLD_NUMERIC_VECTOR_MAXIMA_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_MAXIMA_INL_H_
#undef INFOLD_NUMERIC_VECTOR_MAXIMA_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_MAXIMA_INL_H_
#endif

#include <type_traits>

#include <hwy/highway.h>

#include "numeric/floats.h"
#include "numeric/vector/vector_floats-inl.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if INFOLD_VECTOR_BLOCKS

// Returns the largest magnitudes of kCount elements, lane by lane. NaN counts as larger than any
// number.
template <std::uint32_t kCount, typename Format>
HWY_INLINE auto largest_lanes(const typename Format::Bits* at) {
  const hn::CappedTag<typename Format::Bits, kCount> d;
  const auto mask = hn::Set(d, static_cast<typename Format::Bits>(~Format::kSign));
  auto largest = hn::And(hn::LoadU(d, at), mask);
  for (std::uint32_t i = static_cast<std::uint32_t>(hn::Lanes(d)); i < kCount;
       i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    largest = hn::Max(largest, hn::And(hn::LoadU(d, at + i), mask));
  }
  return largest;
}

template <std::uint32_t kCount, typename Format>
HWY_INLINE typename Format::Bits largest_bits(const typename Format::Bits* at) {
  const auto lanes = largest_lanes<kCount, Format>(at);
  return hn::GetLane(hn::MaxOfLanes(hn::DFromV<decltype(lanes)>(), lanes));
}

// A vector with one lane for each block of a group: four blocks of f32, or eight of 16-bit types.
template <typename Format>
using Group = hn::Full128<typename Format::Bits>;
template <typename Format>
constexpr std::uint32_t kGroup = 16 / sizeof(typename Format::Bits);

// Interleaves lanes, pairs or fours of lanes from `a` and `b`, and returns the larger of each two.
template <typename Lane, typename V>
HWY_INLINE V merge(V a, V b) {
  const hn::DFromV<V> d;
  const hn::Repartition<Lane, decltype(d)> lanes;
  const auto lower = hn::InterleaveLower(lanes, hn::BitCast(lanes, a), hn::BitCast(lanes, b));
  const auto upper = hn::InterleaveUpper(lanes, hn::BitCast(lanes, a), hn::BitCast(lanes, b));
  return hn::Max(hn::BitCast(d, lower), hn::BitCast(d, upper));
}

// Returns the largest of all 16-byte parts, lane by lane.
template <typename V>
HWY_INLINE auto fold(V value) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromV<V>) == 16) {
    return value;
  } else {
    const hn::Half<decltype(d)> half;
    return fold(hn::Max(hn::LowerHalf(half, value), hn::UpperHalf(half, value)));
  }
}

// Returns the largest magnitude of each block in a group of consecutive blocks of kCount elements.
// Reducing the blocks together takes only a third of the shuffles.
template <std::uint32_t kCount, typename Format>
HWY_INLINE hn::VFromD<Group<Format>> largest_of_group(const typename Format::Bits* at) {
  const auto lanes = [at](std::uint32_t block)
                         HWY_ATTR { return largest_lanes<kCount, Format>(at + block * kCount); };
  if constexpr (kGroup<Format> == 4) {
    const auto ab = merge<std::uint32_t>(lanes(0), lanes(1));
    const auto cd = merge<std::uint32_t>(lanes(2), lanes(3));
    return fold(merge<std::uint64_t>(ab, cd));
  } else {
    const auto ab = merge<std::uint16_t>(lanes(0), lanes(1));
    const auto cd = merge<std::uint16_t>(lanes(2), lanes(3));
    const auto ef = merge<std::uint16_t>(lanes(4), lanes(5));
    const auto gh = merge<std::uint16_t>(lanes(6), lanes(7));
    const auto abcd = merge<std::uint32_t>(ab, cd);
    const auto efgh = merge<std::uint32_t>(ef, gh);
    return fold(merge<std::uint64_t>(abcd, efgh));
  }
}

// A vector with one lane for the exponent field of each block of a group.
template <typename Format>
using Fields = std::conditional_t<Format::kWidth == 16, hn::Full64<std::uint8_t>, Group<Format>>;

// Finds the exponent fields of the largest magnitudes in a group of consecutive blocks, after
// kCarry is added to each magnitude.
template <std::uint32_t kCount, typename Format, typename Format::Bits kCarry>
class LargestFields {
 public:
  HWY_INLINE LargestFields() : constant_(kept_constant(D(), kBytes ? 0x00FF : kCarry)) {}

  HWY_INLINE hn::VFromD<Fields<Format>> operator()(const typename Format::Bits* at) const {
    if constexpr (kBytes) {
      const auto abcd = merge<std::uint16_t>(of_two(at), of_two(at + 2 * kCount));
      const auto efgh = merge<std::uint16_t>(of_two(at + 4 * kCount), of_two(at + 6 * kCount));
      const auto all = fold(merge<std::uint32_t>(abcd, efgh));
      const Fields<Format> half;
      const auto bytes = hn::Max(hn::LowerHalf(half, all), hn::UpperHalf(half, all));
      if constexpr (Format::kFractionBits == 7) return bytes;
      return hn::ShiftRight<Format::kFractionBits - 7>(bytes);
    } else {
      const auto carried = hn::Add(largest_of_group<kCount, Format>(at), constant_);
      const auto fields = hn::ShiftRight<Format::kFractionBits>(carried);
      if constexpr (Format::kWidth == 16) {
        return hn::TruncateTo(Fields<Format>(), fields);
      } else {
        return fields;
      }
    }
  }

 private:
  // Without a carry, a field depends only on the eight bits below the sign, and twice as many of
  // these bytes fit in a vector.
  static constexpr bool kBytes = Format::kWidth == 16 && kCarry == 0;
  using D = std::conditional_t<kBytes, hn::CappedTag<std::uint16_t, kCount>, Group<Format>>;

  // Returns the maxima of these bytes in two blocks, with those of the first block in even places.
  HWY_INLINE auto of_two(const std::uint16_t* at) const {
    const D d;
    const hn::Repartition<std::uint8_t, D> bytes;
    const auto both = [&](std::uint32_t i) HWY_ATTR {
      const auto first = hn::ShiftRight<7>(hn::LoadU(d, at + i));
      const auto second = hn::LoadU(d, at + kCount + i);
      return hn::BitCast(bytes, hn::IfVecThenElse(constant_, first, hn::Add(second, second)));
    };
    auto largest = both(0);
    for (std::uint32_t i = static_cast<std::uint32_t>(hn::Lanes(d)); i < kCount;
         i += static_cast<std::uint32_t>(hn::Lanes(d))) {
      largest = hn::Max(largest, both(i));
    }
    return largest;
  }

  hn::VFromD<D> constant_;
};

#endif  // INFOLD_VECTOR_BLOCKS

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif
