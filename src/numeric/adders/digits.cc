// SPDX-License-Identifier: Apache-2.0
//
// The parts that are the same for every instruction set: infinities, and the way from sums of
// digits to floats. Doubles hold most sums exactly, integers of 128 bits hold nearly all others,
// and bins hold the rest.
#include "numeric/adders/digits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "core/exact/bins.h"
#include "core/exact/fp_guard.h"
#include "numeric/codec.h"
#include "numeric/floats.h"

namespace infold::numeric {
namespace {

// An element's counts in one integer: +infinity in the lower bits, -infinity in the upper bits. NaN
// counts in both.
constexpr std::uint32_t kPlus = 1;
constexpr std::uint32_t kMinus = 1 << 10;
static_assert(kDigitWorldMax < kMinus / kPlus);

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

std::int32_t at(const std::byte* sums, std::uint32_t slice, std::uint32_t count, std::uint32_t i) {
  return load<std::int32_t>(sums, std::size_t{slice} * count + i);
}

template <typename Format>
constexpr DigitRange kWholeRange = {
    0, (1U << Format::kExponentBits) - 3 + static_cast<std::uint32_t>(Format::kFractionBits) + 1,
    true};

template <typename Format>
void write_counts(const std::byte* x, std::uint32_t count, std::byte* integers) {
  using Bits = typename Format::Bits;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto element = load<Bits>(x, i);
    const bool is_nan = magnitude_bits<Format>(element) > Format::kInfinity;
    const bool negative = (element & Format::kSign) != 0;
    const std::uint32_t counts =
        (is_nan || !negative ? kPlus : 0) | (is_nan || negative ? kMinus : 0);
    store<std::uint32_t>(integers, i, is_special<Format>(element) ? counts : 0);
  }
}

double special_of(std::int32_t counts) {
  const bool plus = static_cast<std::uint32_t>(counts) % kMinus != 0;
  const bool minus = static_cast<std::uint32_t>(counts) / kMinus != 0;
  if (plus && minus) return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return minus ? -infinity : plus ? infinity : 0;
}

// Returns sum * 2^exponent / divisor, exact except for bits after the 54th. The last bit of the
// result tells whether any of these is set. Requires: divisor <= kDigitWorldMax.
ExactFloat quotient(Wide sum, int exponent, std::uint32_t divisor) {
  if (sum == 0) return {};
  const bool negative = sum < 0;
  const auto magnitude =
      negative ? -static_cast<UnsignedWide>(sum) : static_cast<UnsignedWide>(sum);
  const auto upper = static_cast<std::uint64_t>(magnitude >> 64);
  const auto lower = static_cast<std::uint64_t>(magnitude);
  const int width =
      static_cast<int>(upper != 0 ? 64 + std::bit_width(upper) : std::bit_width(lower));
  const int excess = width - 63;
  const std::uint64_t leading =
      excess >= 0 ? static_cast<std::uint64_t>(magnitude >> excess) : lower << -excess;
  bool is_inexact = excess > 0 && (magnitude & ((UnsignedWide{1} << excess) - 1)) != 0;
  exponent += excess;
  if (divisor <= 1) return {negative, leading | (is_inexact ? 1U : 0U), exponent};
  is_inexact |= leading % divisor != 0;
  return {negative, leading / divisor << 1 | (is_inexact ? 1U : 0U), exponent - 1};
}

// Returns the exponent of the group's lowest bit.
template <typename Format>
int unit_of(const DigitGroup& group) {
  return Format::kExponentMin + static_cast<int>(group.range.low);
}

// Returns whether a double holds each sum over all ranks exactly.
template <typename Format>
bool fits_doubles(const DigitGroup& group) {
  const std::uint32_t rank_bits = 31 - group.bits;
  const auto top = static_cast<int>(group.range.top + rank_bits);
  return group.range.top - group.range.low + rank_bits <= 53 && Format::kExponentMin + top <= 1023;
}

template <typename Format>
[[gnu::noinline]] void sum_in_doubles(const DigitGroup& group, const std::byte* sums,
                                      std::uint32_t count, double* high) {
  const core::FpGuard guard;
  std::fill_n(high, count, 0.0);
  for (std::uint32_t slice = 0; slice < group.slices(); ++slice) {
    const double unit =
        std::ldexp(1, unit_of<Format>(group) + static_cast<int>(slice * group.bits));
    for (std::uint32_t i = 0; i < count; ++i) high[i] += at(sums, slice, count, i) * unit;
  }
}

template <typename Format>
void round_doubles(const DigitGroup& group, const std::byte* sums, std::uint32_t count,
                   std::uint32_t divisor, std::byte* out) {
  std::array<double, kDigitGroupElements> high;
  sum_in_doubles<Format>(group, sums, count, high.data());
  for (std::uint32_t i = 0; group.range.special && i < count; ++i) {
    const std::int32_t counts = at(sums, group.slices(), count, i);
    if (counts != 0) high[i] = special_of(counts);
  }
  arithmetic().exact[static_cast<std::size_t>(Format::kDtype)]->round(high.data(), nullptr, count,
                                                                      divisor, out);
}

// Returns whether an integer of 128 bits holds the sum of one element's digits.
bool fits_wide(const DigitGroup& group) { return group.slices() * group.bits <= 95 + group.bits; }

ExactFloat round_wide(const DigitGroup& group, int unit, const std::byte* sums, std::uint32_t count,
                      std::uint32_t index, std::uint32_t divisor) {
  Wide sum = 0;
  for (std::uint32_t slice = 0; slice < group.slices(); ++slice) {
    sum += static_cast<Wide>(at(sums, slice, count, index)) << (slice * group.bits);
  }
  return quotient(sum, unit, divisor);
}

ExactFloat round_bins(const DigitGroup& group, int unit, const std::byte* sums, std::uint32_t count,
                      std::uint32_t index, std::uint32_t divisor) {
  const core::BinLayout layout = {
      unit, std::min(core::kBinRowsMax, (group.slices() * group.bits + 31) / 32 + 2)};
  std::array<std::int64_t, core::kBinRowsMax> words;
  std::fill_n(words.data(), layout.rows, 0);
  for (std::uint32_t slice = 0; slice < group.slices(); ++slice) {
    const std::int64_t digit = at(sums, slice, count, index);
    const auto magnitude = static_cast<std::uint64_t>(digit < 0 ? -digit : digit);
    core::add_to_bins({digit < 0, magnitude, unit + static_cast<int>(slice * group.bits)}, layout,
                      {words.data()});
  }
  return core::quotient_of_bins(layout, {words.data()}, divisor);
}

template <typename Format>
void round(const DigitGroup& group, const std::byte* sums, std::uint32_t count,
           std::uint32_t divisor, std::byte* out) {
  if (fits_doubles<Format>(group)) return round_doubles<Format>(group, sums, count, divisor, out);
  const int unit = unit_of<Format>(group);
  const auto round_one = fits_wide(group) ? round_wide : round_bins;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double special = group.range.special ? special_of(at(sums, group.slices(), count, i)) : 0;
    typename Format::Bits bits = 0;
    if (std::isnan(special)) {
      bits = Format::kQuietNan;
    } else if (special != 0) {
      bits = Format::kInfinity | (special < 0 ? Format::kSign : typename Format::Bits{0});
    } else {
      bits = pack<Format>(round_one(group, unit, sums, count, i, divisor));
    }
    store(out, i, bits);
  }
}

}  // namespace

DigitRange joined(const DigitRange& a, const DigitRange& b) {
  const bool special = a.special || b.special;
  if (a.top == 0) return {b.low, b.top, special};
  if (b.top == 0) return {a.low, a.top, special};
  return {std::min(a.low, b.low), std::max(a.top, b.top), special};
}

DigitRange digit_range_of(core::DataType dtype) {
  switch (dtype) {
    case core::DataType::f32: return kWholeRange<F32>;
    case core::DataType::f16: return kWholeRange<F16>;
    case core::DataType::bf16: return kWholeRange<Bf16>;
    default: return kWholeRange<F64>;
  }
}

void write_slice(core::DataType dtype, const std::byte* x, std::uint32_t count,
                 const DigitGroup& group, std::uint32_t slice, std::byte* integers) {
  if (slice < group.slices()) {
    const std::uint32_t low = group.range.low + slice * group.bits;
    return digit_loops(dtype).write(x, count, low, group.bits, integers);
  }
  switch (dtype) {
    case core::DataType::f32: return write_counts<F32>(x, count, integers);
    case core::DataType::f16: return write_counts<F16>(x, count, integers);
    case core::DataType::bf16: return write_counts<Bf16>(x, count, integers);
    default: return write_counts<F64>(x, count, integers);
  }
}

void round_digits(core::DataType dtype, const DigitGroup& group, const std::byte* sums,
                  std::uint32_t count, std::uint32_t divisor, std::byte* out) {
  switch (dtype) {
    case core::DataType::f32: return round<F32>(group, sums, count, divisor, out);
    case core::DataType::f16: return round<F16>(group, sums, count, divisor, out);
    case core::DataType::bf16: return round<Bf16>(group, sums, count, divisor, out);
    default: return round<F64>(group, sums, count, divisor, out);
  }
}

}  // namespace infold::numeric
