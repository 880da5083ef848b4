/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums, minima, maxima and bitwise or of integers in place, like `combine` in
 * core/aggregator/arithmetic.cc. There are no branches: a mispredicted branch costs as much as ten
 * additions, and the verifier would follow both sides of each branch.
 */
#pragma once

#include "planes/xdp/bpf/consts.h"

enum combination { kStore, kSum, kMin, kMax, kOr };

/* The smaller number minus b, which is 0 if b is the smaller one. */
INLINE int64_t below(int64_t a, int64_t b) {
  const int64_t distance = (int64_t)((uint64_t)a - (uint64_t)b);
  int64_t is_less = (distance ^ ((a ^ b) & (distance ^ a))) >> 63;
  OPAQUE(is_less); /* otherwise clang makes a branch */
  return distance & is_less;
}

INLINE uint64_t combined(uint64_t a, uint64_t b, int how) {
  if (how == kStore) return b;
  if (how == kSum) return a + b;
  if (how == kOr) return a | b;
  const uint64_t distance = (uint64_t)below((int64_t)a, (int64_t)b);
  return how == kMin ? b + distance : a - distance;
}

INLINE void combine_one(uint8_t* into, const uint8_t* from, uint32_t shift, int how) {
  switch (shift) {
    case 0:
      *into = (uint8_t)combined((uint64_t)(int64_t)*(int8_t*)into,
                                (uint64_t)(int64_t)*(const int8_t*)from, how);
      return;
    case 1:
      *(uint16_t*)into = (uint16_t)combined((uint64_t)(int64_t)*(int16_t*)into,
                                            (uint64_t)(int64_t)*(const int16_t*)from, how);
      return;
    case 2:
      *(uint32_t*)into = (uint32_t)combined((uint64_t)(int64_t)*(int32_t*)into,
                                            (uint64_t)(int64_t)*(const int32_t*)from, how);
      return;
    default: *(uint64_t*)into = combined(*(uint64_t*)into, *(const uint64_t*)from, how); return;
  }
}

/* Adds all bytes, or all 16-bit words, of 8 bytes at once. The top bits would carry into the
 * neighbour, so they are added separately. */
INLINE uint64_t sum_in_parts(uint64_t a, uint64_t b, uint64_t tops) {
  return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

INLINE void combine_step(uint8_t* into, const uint8_t* from, uint32_t shift, int how) {
  if (how == kStore || how == kOr || (how == kSum && shift != 2)) {
    const uint64_t tops = shift == 0 ? 0x8080808080808080 : 0x8000800080008000;
    UNROLL for (uint32_t i = 0; i < kStepBytes; i += 8) {
      uint64_t* const a = (uint64_t*)(into + i);
      const uint64_t b = *(const uint64_t*)(from + i);
      *a = how == kStore ? b
           : how == kOr  ? *a | b
           : shift == 3  ? *a + b
                         : sum_in_parts(*a, b, tops);
    }
    return;
  }
  UNROLL for (uint32_t i = 0; i < kStepBytes; i += 4) {
    if (how == kSum) {
      *(uint32_t*)(into + i) += *(const uint32_t*)(from + i);
      continue;
    }
    UNROLL for (uint32_t j = 0; j < 4; j += 1U << shift) {
      if (shift == 3 && i % 8 != 0) continue;
      combine_one(into + i + j, from + i + j, shift, how);
    }
  }
}

/* `elements` are *element_bytes bytes of a packet that ends at `end`. `sum` is in a map's value
 * with `room` bytes, a constant. */
INLINE void combine(uint8_t* sum, uint32_t room, const uint8_t* elements, const uint8_t* end,
                    const uint32_t* element_bytes, uint32_t shift, int how) {
  const uint32_t bytes = *element_bytes;
  uint32_t done = 0;
  const uint8_t* from = elements;
  for (uint32_t step = 0; step < kStepsMax; ++step) {
    if (done + kStepBytes > bytes || done + kStepBytes > room) break;
    if (from + kStepBytes > end) break;
    combine_step(sum + done, from, shift, how);
    done += kStepBytes;
    from += kStepBytes;
  }
  /* Read again, because each exit of the loop has taught the verifier a different range of `bytes`,
   * and it would follow the rest once for each. */
  const uint32_t again = REREAD(*element_bytes);
  uint32_t at = again & ~(uint32_t)(kStepBytes - 1);
  uint32_t rest = again & (kStepBytes - 1);
  OPAQUE(at);   /* so that the compared value is the used one */
  OPAQUE(rest); /* otherwise clang drops the loop's end, which the verifier needs as a bound */
  if (at > room - kStepBytes) return;
  from = elements + at;
  for (uint32_t i = 0; i < kStepBytes; i += 1U << shift) {
    if (i >= rest) break;
    if (from + i + (1U << shift) > end) break;
    combine_one(sum + at + i, from + i, shift, how);
  }
}
