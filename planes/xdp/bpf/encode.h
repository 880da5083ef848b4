/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes lanes as the mantissas of a result, like `encode` in
 * core/aggregator/arithmetic.cc, and writes the other answers to a complete chunk of block floats.
 * The copy is in phase CLOSING, so no lock is held. The kernel's loop runs over blocks, so the
 * verifier follows it once.
 */
#pragma once

#include "planes/xdp/bpf/settle.h"

enum { kBlock = INFOLD_BLOCK_ELEMENTS, kLargestBlock = INFOLD_BLOCK_ELEMENTS_F64 };

/* The context of the loops over blocks. */
struct writing {
  struct work* w;
  struct infold_xdp_codes* codes;
  int64_t* lanes;
  uint8_t* body; /* of the answer */
  uint32_t elements_at;
  uint32_t wide;
};

struct encoding {
  int32_t shift; /* to the right, from the lanes' unit to the result's */
  int32_t code;
  uint64_t limit;
  int exact; /* no sum is so large that rounding or infinities matter */
};

/* Finds the highest 1 in six halvings. This takes twice as many operations as highest_bit(), but no
 * load that a block's only result would have to wait for. */
INLINE uint32_t top_bit(uint64_t value) {
  uint32_t top = 0;
  UNROLL for (uint32_t log = 6; log-- != 0;) {
    const uint64_t upper = value >> (1U << log);
    const uint32_t step = (uint32_t)((0 - upper) >> 63 << log);
    value >>= step;
    top += step;
  }
  return top;
}

INLINE uint64_t round_shift(uint64_t value, int32_t shift) {
  if (shift <= 0) return value << (-shift & 63);
  const uint64_t half = 1ULL << ((shift - 1) & 63);
  return (value + half - 1 + (value >> (shift & 63) & 1)) >> (shift & 63);
}

/* There is no branch, because a processor would mispredict it about four times in each block. */
INLINE uint64_t larger(uint64_t a, uint64_t b) {
  const int64_t less = (int64_t)(a - b);
  int64_t is_less = less >> 63;
  OPAQUE(is_less);
  return a - (uint64_t)(less & is_less);
}

INLINE uint64_t magnitude(int64_t value) {
  const int64_t sign = value >> 63;
  return (uint64_t)(value ^ sign) - (uint64_t)sign;
}

/* Keeps the largest magnitudes of even and of odd elements apart, so that one does not wait for the
 * other. The comparison takes 2^63 for a negative number, and `seen_bits` shows that case. */
INLINE uint64_t largest_of(const int64_t* lane, uint64_t largest, uint64_t* seen_bits) {
  uint64_t odd = 0;
  UNROLL for (uint32_t i = 0; i < kBlock; i += 2) {
    const uint64_t one = magnitude(lane[i]);
    const uint64_t other = magnitude(lane[i + 1]);
    *seen_bits |= one | other;
    largest = larger(largest, one);
    odd = larger(odd, other);
  }
  return larger(largest, odd);
}

INLINE void plan_encoding(struct encoding* e, uint64_t largest, int32_t lane_code, uint32_t shift,
                          int wide) {
  const int32_t top = (int32_t)top_bit(largest);
  const int32_t mantissa_top = (int32_t)(8U << shift) - 2;
  const int32_t code_max = wide ? INFOLD_EXPONENT_CODE_MAX_F64 : INFOLD_EXPONENT_CODE_MAX;
  e->limit = (2ULL << mantissa_top) - 2;
  int32_t code = lane_code + top - mantissa_top;
  if (round_shift(largest, code - lane_code) > e->limit) ++code;
  if (code < 1) code = 1;
  if (code > code_max) code = code_max;
  e->code = code;
  e->shift = code - lane_code;
  e->exact = top < 62 && round_shift(largest, e->shift) <= e->limit;
}

INLINE void store_mantissa(uint8_t* out, uint32_t index, uint32_t shift, int64_t value) {
  switch (shift) {
    case 0: out[index] = (uint8_t)value; return;
    case 1: ((uint16_t*)out)[index] = (uint16_t)value; return;
    default: ((uint32_t*)out)[index] = (uint32_t)value; return;
  }
}

/* Rounds to nearest, ties to even, for both signs. It adds just under a half, completes it to a
 * half if the result would be odd, and then shifts arithmetically. */
INLINE void encode_group(const int64_t* lane, uint8_t* out, const struct encoding* e,
                         uint32_t shift) {
  if (e->shift <= 0) {
    const uint32_t left = (uint32_t)-e->shift & 63;
    UNROLL for (uint32_t i = 0; i < kBlock; ++i) {
      SHIFT_COUNTS_NOT_IN_R4();
      store_mantissa(out, i, shift, (int64_t)((uint64_t)lane[i] << left));
    }
    return;
  }
  const uint32_t right = (uint32_t)e->shift & 63;
  const int64_t under_half = (int64_t)(1ULL << ((right - 1) & 63)) - 1;
  UNROLL for (uint32_t i = 0; i < kBlock; ++i) {
    SHIFT_COUNTS_NOT_IN_R4();
    const int64_t odd = lane[i] >> right & 1;
    store_mantissa(out, i, shift, (lane[i] + under_half + odd) >> right);
  }
}

struct careful {
  struct work* w;
  const int64_t* lane;
  uint8_t* out;
  uint64_t limit;
  int32_t right;
  uint32_t shift;
};

/* Encodes one element like the scalar loop, for sums that only a lying worker or huge floats
 * reach. */
static long encode_carefully(uint32_t index, const void* context) {
  const struct careful* const in = context;
  const int64_t value = in->lane[index & (kBlock - 1)];
  uint64_t rounded = round_shift(magnitude(value), in->right);
  if (rounded > in->limit) {
    rounded = in->limit + 1;
    in->w->overflowed = 1;
  }
  const int64_t mantissa = value < 0 ? -(int64_t)rounded : (int64_t)rounded;
  switch (in->shift) {
    case 0: store_mantissa(in->out, index & (kBlock - 1), 0, mantissa); return 0;
    case 1: store_mantissa(in->out, index & (kBlock - 1), 1, mantissa); return 0;
    default: store_mantissa(in->out, index & (kBlock - 1), 2, mantissa); return 0;
  }
}

INLINE void write_code(uint8_t* codes, uint32_t block, uint32_t code, uint32_t wide) {
  if (wide) {
    *(uint16_t*)(codes + 2 * block) = bpf_htons((uint16_t)code);
  } else {
    codes[block] = (uint8_t)code;
  }
}

INLINE long encode_block(uint32_t block, const struct writing* to, uint32_t shift) {
  if (block >= INFOLD_XDP_BLOCKS_MAX) return 1;
  const uint32_t wide = to->wide;
  uint32_t first = wide ? block * 2 * kBlock : block * kBlock;
  OPAQUE(first);
  if (first > config.elements_max - kBlock) return 1;
  if (wide && first > config.elements_max - kLargestBlock) return 1;
  const int64_t* const lane = to->lanes + first;
  uint32_t at = to->elements_at + (first << shift);
  OPAQUE(at);
  if (at > config.stored_bytes_max) return 1;
  uint8_t* const out = to->body + at;
  const int32_t lane_code = to->codes->low[block];
  uint64_t bits = 0;
  uint64_t largest = 0;
  if (lane_code != 0) {
    largest = largest_of(lane, 0, &bits);
    if (wide) largest = largest_of(lane + kBlock, largest, &bits);
    if (bits >> 63) largest = bits & 1ULL << 63;
  }
  struct encoding e = {0, 0, 0, 0};
  if (largest != 0) plan_encoding(&e, largest, lane_code, shift, (int)wide);
  write_code(to->body, block, (uint32_t)e.code, wide);
  if (largest == 0) {
    UNROLL for (uint32_t i = 0; i < kBlock; ++i) store_mantissa(out, i, shift, 0);
    if (!wide) return 0;
    UNROLL for (uint32_t i = 0; i < kBlock; ++i) store_mantissa(out, kBlock + i, shift, 0);
    return 0;
  }
  if (!e.exact) {
    struct careful in = {to->w, lane, out, e.limit, e.shift, shift};
    kernel_loop(kBlock, encode_carefully, &in);
    if (!wide) return 0;
    in.lane = lane + kBlock;
    in.out = out + (kBlock << shift);
    kernel_loop(kBlock, encode_carefully, &in);
    return 0;
  }
  encode_group(lane, out, &e, shift);
  if (wide) encode_group(lane + kBlock, out + (kBlock << shift), &e, shift);
  return 0;
}

static long encode_block8(uint32_t block, const void* to) { return encode_block(block, to, 0); }
static long encode_block16(uint32_t block, const void* to) { return encode_block(block, to, 1); }
static long encode_block32(uint32_t block, const void* to) { return encode_block(block, to, 2); }
