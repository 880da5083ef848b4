// SPDX-License-Identifier: Apache-2.0
//
// Adds contributions to an aggregator's lanes in vectors, once per instruction set: plan, add,
// widen. Lanes have 16, 32 or 64 bits. core/aggregator/arithmetic.cc defines the results, and its
// loops take the elements that do not fill a vector.
#if defined(INFOLD_NUMERIC_VECTOR_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INFOLD_NUMERIC_VECTOR_LANES_INL_H_
#undef INFOLD_NUMERIC_VECTOR_LANES_INL_H_
#else
#define INFOLD_NUMERIC_VECTOR_LANES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include <hwy/highway.h>

#include "core/aggregator/arithmetic.h"

HWY_BEFORE_NAMESPACE();
namespace infold::numeric {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

namespace hn = hwy::HWY_NAMESPACE;

// The index of an integer type in the tables. Mantissas begin at 8 bits, and lanes at 16.
template <typename Int>
constexpr std::size_t kIndex = std::bit_width(sizeof(Int)) - 1;
template <typename Lane>
constexpr std::size_t kLaneIndex = kIndex<Lane> - 1;

template <typename Lane>
using Lanes = hn::ScalableTag<Lane>;
template <typename Lane>
using Magnitudes = hn::ScalableTag<std::make_unsigned_t<Lane>>;

template <typename D, typename Int>
HWY_INLINE hn::VFromD<D> load_lanes(D d, const Int* mantissas) {
  const hn::Rebind<Int, D> narrow;
  if constexpr (sizeof(Int) == sizeof(hn::TFromD<D>)) {
    return hn::LoadU(d, mantissas);
  } else if constexpr (sizeof(hn::TFromD<D>) == 8 && sizeof(Int) < 4) {
    const hn::Rebind<std::int32_t, D> middle;
    return hn::PromoteTo(d, hn::PromoteTo(middle, hn::LoadU(narrow, mantissas)));
  } else {
    return hn::PromoteTo(d, hn::LoadU(narrow, mantissas));
  }
}

// Shifts all lanes by the same count. This takes one instruction if the processor has shifts with a
// count per lane, and two if it has one count for the whole vector.
template <typename D>
class Shift {
 public:
  static constexpr bool kPerLane =
      HWY_TARGET <= HWY_AVX3 || (HWY_TARGET <= HWY_AVX2 && sizeof(hn::TFromD<D>) >= 4);
  using Count = std::conditional_t<kPerLane, hn::VFromD<D>, int>;

  explicit HWY_INLINE Shift(Count count) : count_(count) {}
  HWY_INLINE Shift(D d, std::uint32_t bits) {
    if constexpr (kPerLane) {
      count_ = hn::Set(d, static_cast<hn::TFromD<D>>(bits));
    } else {
      count_ = static_cast<int>(bits);
    }
  }
  HWY_INLINE hn::VFromD<D> left(hn::VFromD<D> value) const {
    if constexpr (kPerLane)
      return hn::Shl(value, count_);
    else
      return hn::ShiftLeftSame(value, count_);
  }
  HWY_INLINE hn::VFromD<D> right(hn::VFromD<D> value) const {
    if constexpr (kPerLane)
      return hn::Shr(value, count_);
    else
      return hn::ShiftRightSame(value, count_);
  }

 private:
  Count count_;
};

// Halves the vector down to 128 bits, for which a processor has one instruction that finds the
// largest 16-bit lane.
template <typename D>
HWY_INLINE hn::TFromD<D> largest_lane(D d, hn::VFromD<D> value) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> half;
    return largest_lane(half, hn::Max(hn::LowerHalf(half, value), hn::UpperHalf(half, value)));
  } else {
    return hn::GetLane(hn::MaxOfLanes(d, value));
  }
}

// Plans without branches. Code 0 means that there is no code, and subtracting one makes it the
// largest.
std::uint32_t plan(const core::BlockCodes& codes, std::uint32_t blocks, core::BlockStep* steps) {
  using core::BlockStep;
  const hn::CappedTag<std::uint16_t, core::kBlocksTogether> d;
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1);
  auto reach = zero;
  for (std::uint32_t first = 0; first < blocks; first += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const auto low = hn::LoadU(d, codes.low + first);
    const auto lane_low = hn::LoadU(d, codes.lane_low + first);
    const auto high = hn::Max(hn::Max(low, hn::LoadU(d, codes.high + first)),
                              hn::LoadU(d, codes.lane_high + first));
    const auto finest = hn::Add(hn::Min(hn::Sub(low, one), hn::Sub(lane_low, one)), one);
    hn::StoreU(high, d, codes.lane_high + first);
    hn::StoreU(finest, d, codes.lane_low + first);
    const auto some = hn::Ne(low, zero);
    const auto both = hn::And(some, hn::Ne(lane_low, zero));
    const auto action = hn::Add(hn::IfThenElseZero(some, one), hn::IfThenElseZero(both, one));
    const auto lane_shift = hn::IfThenElseZero(both, hn::Sub(lane_low, finest));
    const auto mantissa_shift = hn::IfThenElseZero(some, hn::Sub(low, finest));
    const auto word = hn::Or(hn::Or(action, hn::ShiftLeft<BlockStep::kLaneShiftAt>(lane_shift)),
                             hn::ShiftLeft<BlockStep::kMantissaShiftAt>(mantissa_shift));
    hn::StoreU(word, d, reinterpret_cast<std::uint16_t*>(steps + first));
    reach = hn::Max(reach, hn::IfThenElseZero(some, hn::Sub(high, finest)));
  }
  return largest_lane(d, reach);
}

// The number of blocks that share one test of their steps.
constexpr std::uint32_t kStrip = 8;
using StepWords = hn::Full128<std::uint16_t>;

// Shift counts for the blocks of a strip. Each count is stored several times, so that one load
// fills a vector with it. Filling a vector from a register would instead use the execution port
// that widening needs.
template <typename Lane>
class StripCounts {
 public:
  using D = Lanes<Lane>;
  using Word = std::conditional_t<sizeof(Lane) == 8, std::uint64_t, std::uint32_t>;

  explicit HWY_INLINE StripCounts(hn::VFromD<StepWords> counts) {
    const StepWords d;
    const auto high = sizeof(Lane) == 2 ? counts : hn::Zero(d);
    const auto lower = hn::InterleaveLower(d, counts, high);
    const auto upper = hn::InterleaveUpper(d, counts, high);
    if constexpr (sizeof(Lane) == 8) {
      const hn::Full128<std::uint32_t> d32;
      put(0, hn::InterleaveLower(d32, hn::BitCast(d32, lower), hn::Zero(d32)));
      put(2, hn::InterleaveUpper(d32, hn::BitCast(d32, lower), hn::Zero(d32)));
      put(4, hn::InterleaveLower(d32, hn::BitCast(d32, upper), hn::Zero(d32)));
      put(6, hn::InterleaveUpper(d32, hn::BitCast(d32, upper), hn::Zero(d32)));
    } else {
      put(0, lower);
      put(4, upper);
    }
    asm volatile("" : : "r"(words_) : "memory");  // else compilers take the counts from registers
  }

  HWY_INLINE Shift<D> operator[](std::uint32_t block) const {
    if constexpr (Shift<D>::kPerLane) {
      const hn::ScalableTag<Word> d;
      return Shift<D>(hn::BitCast(D(), hn::Set(d, words_[block])));
    } else {
      return Shift<D>(D(), static_cast<std::uint16_t>(words_[block]));
    }
  }

 private:
  template <typename V>
  HWY_INLINE void put(std::uint32_t first, V words) {
    const hn::Full128<Word> d;
    hn::Store(hn::BitCast(d, words), d, words_ + first);
  }

  alignas(16) Word words_[kStrip];
};

template <typename Lane, typename Int>
HWY_INLINE void add_block(Lane* HWY_RESTRICT lanes, const Int* HWY_RESTRICT mantissas,
                          const Shift<Lanes<Lane>>& mantissa_shift) {
  const Lanes<Lane> d;
  for (std::uint32_t i = 0; i < INFOLD_BLOCK_ELEMENTS;
       i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const auto added = mantissa_shift.left(load_lanes(d, mantissas + i));
    hn::StoreU(hn::Add(hn::LoadU(d, lanes + i), added), d, lanes + i);
  }
}

template <typename Lane, typename Int>
HWY_INLINE void move_and_add_block(Lane* HWY_RESTRICT lanes, const Int* HWY_RESTRICT mantissas,
                                   const Shift<Lanes<Lane>>& lane_shift,
                                   const Shift<Lanes<Lane>>& mantissa_shift) {
  const Lanes<Lane> d;
  for (std::uint32_t i = 0; i < INFOLD_BLOCK_ELEMENTS;
       i += static_cast<std::uint32_t>(hn::Lanes(d))) {
    const auto lane = lane_shift.left(hn::LoadU(d, lanes + i));
    const auto added = mantissa_shift.left(load_lanes(d, mantissas + i));
    hn::StoreU(hn::Add(lane, added), d, lanes + i);
  }
}

// Adds whole blocks of the usual length, at most a strip of them. If some block's action is not to
// add, returns false and adds nothing.
template <typename Lane, typename Int>
HWY_INLINE bool add_strip(Lane* lanes, const Int* mantissas, std::uint32_t blocks,
                          const core::BlockStep* steps) {
  using core::BlockStep;
  const StepWords d;
  const auto words = hn::LoadU(d, reinterpret_cast<const std::uint16_t*>(steps));
  const auto actions = hn::And(words, hn::Set(d, BlockStep::kActionMask));
  const auto add = hn::Set(d, static_cast<std::uint16_t>(BlockStep::Action::add));
  const auto others = hn::And(hn::Ne(actions, add), hn::FirstN(d, blocks));
  if (!hn::AllFalse(d, others)) return false;
  const auto lane_shifts =
      hn::And(hn::ShiftRight<BlockStep::kLaneShiftAt>(words), hn::Set(d, BlockStep::kShiftMask));
  const StripCounts<Lane> mantissa_counts(hn::ShiftRight<BlockStep::kMantissaShiftAt>(words));
  // With narrow lanes there are few vectors, and this test would cost more than needless shifts.
  if (sizeof(Lane) == 8 && hn::AllTrue(d, hn::Eq(lane_shifts, hn::Zero(d)))) {
    for (std::uint32_t block = 0; block < blocks; ++block) {
      const std::uint32_t first = block * INFOLD_BLOCK_ELEMENTS;
      add_block(lanes + first, mantissas + first, mantissa_counts[block]);
    }
    return true;
  }
  const StripCounts<Lane> lane_counts(lane_shifts);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint32_t first = block * INFOLD_BLOCK_ELEMENTS;
    move_and_add_block(lanes + first, mantissas + first, lane_counts[block],
                       mantissa_counts[block]);
  }
  return true;
}

// Adds one block of any length.
template <typename Lane, typename Int>
HWY_INLINE void accumulate_block(Lane* HWY_RESTRICT lanes, const Int* HWY_RESTRICT mantissas,
                                 std::uint32_t count, core::BlockStep step) {
  using core::BlockStep;
  if (step.action() == BlockStep::Action::skip) return;
  const Lanes<Lane> d;
  const auto width = static_cast<std::uint32_t>(hn::Lanes(d));
  const std::uint32_t whole = count / width * width;
  if (step.action() == BlockStep::Action::store) {
    for (std::uint32_t i = 0; i < whole; i += width) {
      hn::StoreU(load_lanes(d, mantissas + i), d, lanes + i);
    }
  } else {
    const Shift lane_shift(d, step.lane_shift());
    const Shift mantissa_shift(d, step.mantissa_shift());
    for (std::uint32_t i = 0; i < whole; i += width) {
      const auto lane = lane_shift.left(hn::LoadU(d, lanes + i));
      const auto added = mantissa_shift.left(load_lanes(d, mantissas + i));
      hn::StoreU(hn::Add(lane, added), d, lanes + i);
    }
  }
  if (whole == count) return;
  core::scalar_arithmetic().accumulate[kLaneIndex<Lane>][kIndex<Int>](
      reinterpret_cast<std::byte*>(lanes + whole),
      reinterpret_cast<const std::byte*>(mantissas + whole), count - whole, count, &step);
}

template <typename Lane, typename Int>
HWY_NOINLINE void accumulate_blocks(Lane* lanes, const Int* mantissas, std::uint32_t count,
                                    std::uint32_t block_elements, const core::BlockStep* steps) {
  for (std::uint32_t first = 0; first < count; first += block_elements, ++steps) {
    const std::uint32_t size = std::min(block_elements, count - first);
    if (size == INFOLD_BLOCK_ELEMENTS) {  // a constant length, which the compiler can use
      accumulate_block(lanes + first, mantissas + first, INFOLD_BLOCK_ELEMENTS, *steps);
    } else {
      accumulate_block(lanes + first, mantissas + first, size, *steps);
    }
  }
}

template <typename Lane, typename Int>
void accumulate(std::byte* lanes, const std::byte* mantissas, std::uint32_t count,
                std::uint32_t block_elements, const core::BlockStep* steps) {
  auto* target = reinterpret_cast<Lane*>(lanes);
  const auto* source = reinterpret_cast<const Int*>(mantissas);
  std::uint32_t whole = block_elements == INFOLD_BLOCK_ELEMENTS ? count / block_elements : 0;
  count -= whole * INFOLD_BLOCK_ELEMENTS;
  while (whole != 0) {
    const std::uint32_t blocks = std::min(whole, kStrip);
    const std::uint32_t elements = blocks * INFOLD_BLOCK_ELEMENTS;
    if (!add_strip(target, source, blocks, steps)) {
      accumulate_blocks(target, source, elements, INFOLD_BLOCK_ELEMENTS, steps);
    }
    target += elements;
    source += elements;
    steps += blocks;
    whole -= blocks;
  }
  if (count != 0) accumulate_blocks(target, source, count, block_elements, steps);
}

// Starts at the end, with the lanes that do not fill a vector, so that no lane is overwritten
// before it is read.
template <typename Lane, typename Wider>
void widen(std::byte* lanes, std::uint32_t count) {
  const Lanes<Wider> d;
  const hn::Rebind<Lane, decltype(d)> narrow;
  const auto width = static_cast<std::uint32_t>(hn::Lanes(d));
  const auto* source = reinterpret_cast<const Lane*>(lanes);
  auto* target = reinterpret_cast<Wider*>(lanes);
  std::uint32_t i = count;
  for (; i % width != 0; --i) {
    Lane lane;
    std::memcpy(&lane, source + i - 1, sizeof(lane));
    const Wider wider = lane;
    std::memcpy(target + i - 1, &wider, sizeof(wider));
  }
  for (; i != 0; i -= width) {
    const auto lane = hn::LoadU(narrow, source + i - width);
    hn::StoreU(hn::PromoteTo(d, lane), d, target + i - width);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace infold::numeric
HWY_AFTER_NAMESPACE();

#endif  // include guard, toggled per target
