/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds one exact sum of floats, or its quotient, to nearest, ties to even. Without
 * branches, because the verifier would follow both sides of each, and a processor would mispredict
 * those that depend on the data. A mask of all bits or none meets no constant here: some verifiers
 * follow such an operation once for either mask. Pure functions.
 */
#pragma once

#include "bpf/bits.h"

/* How a chunk's sums become floats. All of it is equal for all elements. */
struct rounding {
  uint64_t divisor;  /* 1 where only powers of two divide */
  uint32_t halvings; /* floor(log2(divisor)); of a divisor that is 1, the power of two */
  int32_t field;     /* the exponent field of a low unit's quotient, less 1 */
};

/* What clang knows of a float type. */
struct float_bits {
  uint32_t row_bits;
  uint32_t fraction_bits;
  uint32_t infinity;
  uint32_t sign_at;
  int divides;    /* rounding.divisor is not 1 */
  int is_careful; /* results may be subnormal or infinite, and `lost` may be set */
};

INLINE uint64_t at_most(uint64_t value, uint64_t limit) {
  const int64_t less = (int64_t)(value - limit);
  int64_t is_less = less >> 63;
  OPAQUE(is_less); /* otherwise clang makes a branch */
  return limit + (uint64_t)(less & is_less);
}

INLINE uint64_t round_off(uint64_t value, uint32_t bits) {
  return (value + (1ULL << (bits - 1)) - 1 + (value >> bits & 1)) >> bits;
}

/* Results that a float of normal size does not hold. `value` has its highest 1 at bit `top`, which
 * stands for the exponent field `field` + 1. */
INLINE uint64_t round_carefully(uint64_t value, uint32_t top, int64_t field,
                                const struct float_bits* type) {
  const int64_t below = field >> 63; /* all ones if subnormal */
  int64_t more = -field & below;     /* bits that a subnormal number has less */
  const int64_t too_many = (63 - (int64_t)(top - type->fraction_bits) - more) >> 63;
  value &= (uint64_t)~too_many; /* less than half of the smallest number */
  more &= ~too_many;
  const uint64_t rounded = round_off(value, (uint32_t)(top - type->fraction_bits + more) & 63);
  uint64_t bits = ((uint64_t)(field & ~below) << type->fraction_bits) + rounded;
  return at_most(bits, type->infinity);
}

/* The float of (above x 2^row_bits + rest) low units, with the sign that `sign` has in all bits, or
 * of its quotient. `lost`: not 0 if the magnitude has bits behind `rest`. Requires: rest <
 * 2^row_bits and above < 2^63; above is not 0 where something is lost. */
INLINE uint32_t round_sum(uint64_t above, uint64_t rest, uint64_t lost, uint64_t sign,
                          const struct rounding* how, const struct float_bits* type) {
  /* The leading bits: of a long number, all but `rest`. They are more than a float has. */
  const uint32_t row_bits = type->row_bits;
  uint64_t is_long = is_not_zero(above >> (63 - row_bits));
  OPAQUE(is_long); /* otherwise clang multiplies by a mask */
  const uint64_t if_long = 0 - is_long;
  uint64_t value = above << row_bits | rest;
  value ^= (value ^ above) & if_long;
  rest &= if_long;
  if (!type->divides) value |= is_not_zero(rest | lost);
  const uint64_t bit = highest_bit(value);
  const uint64_t up = 62 - bit;
  value <<= up;
  const uint64_t any = 0 - (value >> 62);
  int64_t field = (int64_t)how->field + (int64_t)(row_bits * is_long + bit);
  uint32_t top = 62;
  if (type->divides) {
    /* A quotient has fewer bits, so the dividend has all that there is room for. */
    value |= rest >> ((row_bits - up) & 63);
    lost |= rest << ((64 - row_bits + up) & 63);
    top -= how->halvings;
    const uint64_t quotient = value / how->divisor;
    lost |= value - quotient * how->divisor;
    const uint64_t shorter = 1 ^ quotient >> (top & 63);
    value = quotient << (shorter & 1) | is_not_zero(lost);
    field -= (int64_t)shorter;
  }
  uint64_t bits;
  if (type->is_careful) {
    bits = round_carefully(value, top, field, type);
  } else {
    bits = ((uint64_t)field << type->fraction_bits) +
           round_off(value, (top - type->fraction_bits) & 63);
  }
  return (uint32_t)((bits | sign << type->sign_at) & any);
}

/* The float of (high x 2^row_bits + low) low units. */
INLINE uint32_t round_pair(int64_t low, int64_t high, const struct rounding* how,
                           const struct float_bits* type) {
  const uint32_t row_bits = type->row_bits;
  const uint64_t mask = (1ULL << row_bits) - 1;
  const int64_t both = high + (low >> row_bits);
  const uint64_t sign = (uint64_t)(both >> 63);
  uint64_t rest = (((uint64_t)low ^ sign) & mask) - sign; /* the two's complement */
  const uint64_t above = ((uint64_t)both ^ sign) + (rest >> row_bits);
  return round_sum(above, rest & mask, 0, sign, how, type);
}

/* A sum of f16 has one word, in units of 2^-24. Its last place is at least a unit. The quotient has
 * 15 bits behind the unit. */
INLINE uint32_t round_f16(int64_t sum, const struct rounding* how, int divides) {
  enum { kMore = 15, kFraction = 10, kInfinity = 0x7c00, kSignAt = 15 };
  const uint64_t sign = (uint64_t)(sum >> 63);
  uint64_t value = (((uint64_t)sum ^ sign) - sign) << kMore;
  const uint64_t any = 0 - is_not_zero(value);
  uint32_t unit = kMore;
  if (divides) {
    const uint64_t quotient = value / how->divisor;
    value = quotient | is_not_zero(value - quotient * how->divisor);
  } else {
    unit += how->halvings;
  }
  /* Longer numbers have a larger last place. A number of 0 or fewer bits more has that of 0. */
  const uint64_t field = highest_bit(value | 1ULL << (unit + kFraction)) - kFraction - unit;
  const uint64_t bits = (field << kFraction) + round_off(value, (uint32_t)(unit + field) & 63);
  return (uint32_t)((at_most(bits, kInfinity) | sign << kSignAt) & any);
}
