/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds places of bits without branches, because the verifier would follow both sides of each.
 */
#pragma once

#include "planes/xdp/bpf/consts.h"

/* Returns 1 or 0. */
INLINE uint64_t is_not_zero(uint64_t value) {
  uint64_t negative = 0 - value;
  OPAQUE(negative); /* otherwise clang makes a branch */
  return (value | negative) >> 63;
}

/* The place of the only 1, or 0 if there is no 1. The product has different top bits for each power
 * of two. */
INLINE uint32_t place_of(uint64_t power_of_two) {
  static const uint8_t position[64] = {
      0,  1,  56, 2,  57, 49, 28, 3,  61, 58, 42, 50, 38, 29, 17, 4,  62, 47, 59, 36, 45, 43,
      51, 22, 53, 39, 33, 30, 24, 18, 12, 5,  63, 55, 48, 27, 60, 41, 37, 16, 46, 35, 44, 21,
      52, 32, 23, 11, 54, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6};
  return position[power_of_two * 0x03f79d71b4ca8b09 >> 58];
}
INLINE uint32_t zeros_below(uint64_t value) { return place_of(value & (0 - value)); }

/* The place of the highest 1, or 0 if there is no 1. */
INLINE uint32_t highest_bit(uint64_t value) {
  UNROLL for (uint32_t by = 1; by < 64; by *= 2) value |= value >> by;
  return place_of(value ^ value >> 1);
}
