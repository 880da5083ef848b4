// SPDX-License-Identifier: Apache-2.0
//
// The scalar loops for floats with agreed exponents.
#include "numeric/adders/agreed.h"

#include <algorithm>
#include <bit>

#include "numeric/codec.h"

namespace infold::numeric {
namespace {

std::uint64_t clamped(ExactFloat value, std::int32_t unit, std::uint64_t limit) {
  const int shift = unit - value.exponent;
  const int bits = static_cast<int>(std::bit_width(value.significand));
  if (bits - shift > 32) return limit;  // such a long shift to the left would not be defined
  return std::min(round_shift(value.significand, shift), limit);
}

// Returns the lane of a finite element. In a block with specials, the caller later makes room for
// the counts below it.
template <typename Format>
std::int32_t finite_lane(typename Format::Bits bits, std::int32_t unit, std::int64_t limit) {
  const ExactFloat value = unpack<Format>(bits);
  if (value.significand == 0) return 0;
  const auto magnitude =
      static_cast<std::int32_t>(clamped(value, unit, static_cast<std::uint64_t>(limit)));
  return value.negative ? -magnitude : magnitude;
}

template <typename Format>
std::uint32_t special_counts(typename Format::Bits bits, AgreedWorld world) {
  const bool is_nan = magnitude_bits<Format>(bits) != Format::kInfinity;
  const bool negative = (bits & Format::kSign) != 0;
  const std::uint32_t plus = is_nan || !negative ? 1U << world.count_bits : 0U;
  const std::uint32_t minus = is_nan || negative ? 1U : 0U;
  return plus | minus;
}

}  // namespace

template <typename Format>
void encode_agreed_block(const std::byte* tensor, std::uint32_t count, AgreedWorld world,
                         std::uint16_t agreed, std::byte* lanes) {
  using Bits = typename Format::Bits;
  const bool specials = (agreed & kAgreedSpecial) != 0;
  const auto code = static_cast<std::uint16_t>(agreed & ~kAgreedSpecial);
  const std::int32_t unit = agreed_unit<Format>(world, code, specials);
  const std::int64_t limit = world.limit(specials);
  const std::int32_t room = specials ? 2 * world.count_bits : 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto bits = load<Bits>(tensor, i);
    std::uint32_t lane = 0;
    if (!is_special<Format>(bits)) {
      if (code != 0) {
        lane = static_cast<std::uint32_t>(finite_lane<Format>(bits, unit, limit)) << room;
      }
    } else if (specials) {
      lane = special_counts<Format>(bits, world);
    }
    store<std::uint32_t>(lanes, i, lane);
  }
}

template <typename Format>
void decode_agreed_block(std::byte* tensor, std::uint32_t count, AgreedWorld world,
                         std::uint16_t agreed, std::uint32_t divisor, const std::byte* lanes) {
  using Bits = typename Format::Bits;
  const bool specials = (agreed & kAgreedSpecial) != 0;
  const auto code = static_cast<std::uint16_t>(agreed & ~kAgreedSpecial);
  const std::int32_t unit = agreed_unit<Format>(world, code, specials);
  const std::int32_t room = specials ? 2 * world.count_bits : 0;
  const std::uint32_t count_mask = (1U << world.count_bits) - 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto lane = load<std::int32_t>(lanes, i);
    const auto low = static_cast<std::uint32_t>(lane);
    const bool plus = specials && (low >> world.count_bits & count_mask) != 0;
    const bool minus = specials && (low & count_mask) != 0;
    Bits bits = 0;
    if (plus && minus) {
      bits = Format::kQuietNan;
    } else if (plus || minus) {
      bits = minus ? Format::kSign | Format::kInfinity : Format::kInfinity;
    } else if (code != 0) {
      bits = scaled<Format>(lane >> room, unit, divisor);
    }
    store<Bits>(tensor, i, bits);
  }
}

#define INFOLD_INSTANTIATE(Format)                                                                 \
  template void encode_agreed_block<Format>(const std::byte*, std::uint32_t, AgreedWorld,          \
                                            std::uint16_t, std::byte*);                            \
  template void decode_agreed_block<Format>(std::byte*, std::uint32_t, AgreedWorld, std::uint16_t, \
                                            std::uint32_t, const std::byte*);
INFOLD_INSTANTIATE(F32)
INFOLD_INSTANTIATE(F16)
INFOLD_INSTANTIATE(Bf16)
INFOLD_INSTANTIATE(F64)

}  // namespace infold::numeric
