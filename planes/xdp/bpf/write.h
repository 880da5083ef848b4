/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs that write the answer to a complete chunk of block floats, and hand the copy back.
 */
#pragma once

#include "planes/xdp/bpf/encode.h"
#include "planes/xdp/bpf/take.h"

INLINE int find_writing(struct place* at, struct writing* to) {
  if (!find_place(at)) return 0;
  to->w = at->w;
  to->codes = entry(&codes, at->w->copy);
  to->lanes = entry(&lanes, at->w->copy);
  to->body = at->stored + INFOLD_HEADER_BYTES;
  to->wide = at->w->wide;
  to->elements_at = exponent_bytes(at->w);
  return to->codes && to->lanes;
}

/* Handles an incomplete last block as a complete one. The lanes after it count as 0. */
INLINE void clear_rest(const struct writing* to) {
  const uint32_t used = to->w->elements & (kLargestBlock - 1);
  uint32_t first = to->w->elements & ~(uint32_t)(kLargestBlock - 1);
  OPAQUE(first);
  if (used == 0 || first > config.elements_max - kLargestBlock) return;
  int64_t* const lane = to->lanes + first;
  for (uint32_t i = 0; i < kLargestBlock; ++i) {
    if (i >= used) lane[i] = 0;
  }
}

/* Pads codes with zeros to complete words. */
INLINE void clear_padding(const struct writing* to, uint32_t bytes) {
  OPAQUE(bytes);
  if (bytes < 8) {
    *(uint64_t*)to->body = 0;
    return;
  }
  if (bytes > config.stored_bytes_max) return;
  *(uint64_t*)(to->body + bytes - 8) = 0;
}

/* Writes the header, then sets the copy's new phase under the lock. From then on, repeats get the
 * answer. */
INLINE int finish(struct xdp_md* ctx, const struct place* at, uint32_t kind, uint32_t flags,
                  uint32_t body_bytes) {
  write_header(at->stored, kind, flags, at->copy, at->job, at->w);
  const int has_parent = at->job->has_parent;
  bpf_spin_lock(&at->slot->lock);
  at->copy->stored_bytes = (uint16_t)(INFOLD_HEADER_BYTES + body_bytes);
  if (has_parent) {
    at->copy->phase = INFOLD_XDP_FORWARDED;
  } else {
    become_done(at->copy);
  }
  bpf_spin_unlock(&at->slot->lock);
  at->w->answer_bytes = INFOLD_HEADER_BYTES + body_bytes;
  at->w->answer_sum = 0;
  return answer(ctx, at->w, INFOLD_XDP_COMPLETED,
                has_parent ? INFOLD_XDP_TO_PARENT : INFOLD_XDP_TO_ALL);
}

static long overlay_special(uint32_t element, const void* context) {
  const struct writing* const to = context;
  if (element >= INFOLD_XDP_ELEMENTS_MAX) return 1;
  const uint32_t shift = to->w->element_shift;
  const int plus = to->codes->sets.plus[element >> 6] >> (element & 63) & 1;
  const int minus = to->codes->sets.minus[element >> 6] >> (element & 63) & 1;
  if (!plus && !minus) return 0;
  const int64_t largest = (int64_t)(~0ULL >> 1 >> (64 - (8U << (shift & 3))));
  const int64_t code = plus && minus ? -largest - 1 : plus ? largest : -largest;
  uint32_t at = to->elements_at + (element << (shift & 3));
  OPAQUE(at);
  if (at > config.stored_bytes_max) return 1;
  switch (shift) {
    case 0: store_mantissa(to->body + at, 0, 0, code); return 0;
    case 1: store_mantissa(to->body + at, 0, 1, code); return 0;
    default: store_mantissa(to->body + at, 0, 2, code); return 0;
  }
}

INLINE int write_result(struct xdp_md* ctx, loop_body encode, uint32_t shift) {
  struct place at;
  struct writing to;
  if (!find_writing(&at, &to)) return XDP_ABORTED;
  clear_rest(&to);
  clear_padding(&to, to.elements_at);
  at.w->overflowed = 0;
  kernel_loop(blocks_of(at.w), encode, &to);
  const int specials = at.copy->has_specials;
  if (specials) kernel_loop(at.w->elements, overlay_special, &to);
  return finish(ctx, &at, INFOLD_KIND_RESULT,
                specials || at.w->overflowed ? INFOLD_FLAG_SPECIALS : 0,
                to.elements_at + (at.w->elements << shift));
}

SEC("xdp") int write_result8(struct xdp_md* ctx) { return write_result(ctx, encode_block8, 0); }
SEC("xdp") int write_result16(struct xdp_md* ctx) { return write_result(ctx, encode_block16, 1); }
SEC("xdp") int write_result32(struct xdp_md* ctx) { return write_result(ctx, encode_block32, 2); }

static long copy_block(uint32_t block, const void* context) {
  const struct writing* const to = context;
  if (block >= INFOLD_XDP_BLOCKS_MAX) return 1;
  const uint32_t wide = to->wide;
  const uint32_t low = to->codes->low[block];
  write_code(to->body, block, low, wide);
  uint32_t high_at = blocks_of(to->w) << (wide & 1);
  OPAQUE(high_at);
  if (high_at > 2 * INFOLD_XDP_BLOCKS_MAX) return 1;
  write_code(to->body + high_at, block, to->codes->high[block], wide);
  uint32_t first = wide ? block * 2 * kBlock : block * kBlock;
  OPAQUE(first);
  if (first > config.elements_max - kBlock) return 1;
  if (wide && first > config.elements_max - 2 * kBlock) return 1;
  uint32_t at = to->elements_at + 8 * first;
  OPAQUE(at);
  if (at > config.stored_bytes_max) return 1;
  uint64_t* const out = (uint64_t*)(to->body + at);
  const int64_t* const lane = to->lanes + first;
  UNROLL for (uint32_t i = 0; i < kBlock; ++i) out[i] = low ? (uint64_t)lane[i] : 0;
  if (!wide) return 0;
  UNROLL for (uint32_t i = kBlock; i < 2 * kBlock; ++i) out[i] = low ? (uint64_t)lane[i] : 0;
  return 0;
}

/* writes a partial sum for the parent. */
SEC("xdp") int write_partial(struct xdp_md* ctx) {
  struct place at;
  struct writing to;
  if (!find_writing(&at, &to)) return XDP_ABORTED;
  const uint32_t elements = at.w->elements;
  to.elements_at = partial_exponent_bytes(at.w);
  clear_padding(&to, to.elements_at);
  kernel_loop(blocks_of(at.w), copy_block, &to);
  const int specials = at.copy->has_specials;
  const uint32_t words = (elements + 63) >> 6;
  uint32_t plus_at = to.elements_at + 8 * elements;
  uint32_t minus_at = plus_at + 8 * words;
  OPAQUE(plus_at);
  OPAQUE(minus_at);
  for (uint32_t i = 0; i < INFOLD_XDP_SPECIAL_WORDS_MAX; ++i) {
    if (!specials || i >= words) break;
    if (plus_at > config.stored_bytes_max || minus_at > config.stored_bytes_max) break;
    *(uint64_t*)(to.body + plus_at) = to.codes->sets.plus[i];
    *(uint64_t*)(to.body + minus_at) = to.codes->sets.minus[i];
    plus_at += 8;
    minus_at += 8;
  }
  return finish(ctx, &at, INFOLD_KIND_PARTIAL, specials ? INFOLD_FLAG_SPECIALS : 0,
                partial_bytes(at.w, specials));
}

static long write_high(uint32_t block, const void* context) {
  const struct writing* const to = context;
  if (block >= INFOLD_XDP_BLOCKS_MAX) return 1;
  write_code(to->body, block, to->codes->high[block], to->wide);
  return 0;
}

/* Writes REALIGN, or OVERRANGE for the parent. */
SEC("xdp") int write_codes(struct xdp_md* ctx) {
  struct place at;
  struct writing to;
  if (!find_writing(&at, &to)) return XDP_ABORTED;
  clear_padding(&to, to.elements_at);
  kernel_loop(blocks_of(at.w), write_high, &to);
  return finish(ctx, &at, at.job->has_parent ? INFOLD_KIND_OVERRANGE : INFOLD_KIND_REALIGN, 0,
                to.elements_at);
}
