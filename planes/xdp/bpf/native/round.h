/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounds one exact sum of floats, or its quotient, to nearest, ties to even. There are no
 * branches, because the verifier would follow both sides of each, and a processor would mispredict
 * those that depend on the data. A mask of all or no bits is never combined with a constant here,
 * because some verifiers would follow such an operation once for either mask. Pure functions.
 */
#pragma once

#include "planes/xdp/bpf/bits.h"

/* How a chunk's sums become floats. All fields are the same for all elements. */
struct rounding {
  uint64_t divisor;  /* 1 if only powers of two divide */
  uint32_t halvings; /* floor(log2(divisor)), or the power of two if `divisor` is 1 */
  int32_t field;     /* the exponent field of a low unit's quotient, less 1 */
};

/* The constants of a float type for clang. */
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

/* Rounds results that a float of normal size cannot hold. The highest 1 of `value` is at bit `top`,
 * which stands for the exponent field `field` + 1. */
INLINE uint64_t round_carefully(uint64_t value, uint32_t top, int64_t field,
                                const struct float_bits* type) {
  const int64_t below = field >> 63; /* all ones if subnormal */
  int64_t more = -field & below;     /* how many bits fewer a subnormal number has */
  const int64_t too_many = (63 - (int64_t)(top - type->fraction_bits) - more) >> 63;
  value &= (uint64_t)~too_many; /* less than half of the smallest number */
  more &= ~too_many;
  const uint64_t rounded = round_off(value, (uint32_t)(top - type->fraction_bits + more) & 63);
  uint64_t bits = ((uint64_t)(field & ~below) << type->fraction_bits) + rounded;
  return at_most(bits, type->infinity);
}

/* The float of (above x 2^row_bits + rest) low units, or of its quotient. `sign` has the sign in
 * all bits. `lost` is not 0 if the magnitude has bits below `rest`. Requires: rest < 2^row_bits and
 * above < 2^63. If something is lost, above is not 0. */
INLINE uint32_t round_sum(uint64_t above, uint64_t rest, uint64_t lost, uint64_t sign,
                          const struct rounding* how, const struct float_bits* type) {
  /* The leading bits. For a long number, these are all bits except `rest`, and more than a float
   * has. */
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
    /* A quotient has fewer bits, so the dividend gets as many as there is room for. */
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

/* A sum of f16 has one word, in units of 2^-24, and its last place is at least one unit. The
 * quotient has 15 bits below the unit. */
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
  /* Longer numbers have a larger last place. The field of all shorter numbers is 0. */
  const uint64_t field = highest_bit(value | 1ULL << (unit + kFraction)) - kFraction - unit;
  const uint64_t bits = (field << kFraction) + round_off(value, (uint32_t)(unit + field) & 63);
  return (uint32_t)((at_most(bits, kInfinity) | sign << kSignAt) & any);
}
