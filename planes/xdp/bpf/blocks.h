/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds block floats to 64-bit lanes, as core/aggregator/aggregator_sum.cc does. A
 * block's codes decide its step, which is then applied to 32 elements at a time. All of this runs
 * under the slot's lock. The step goes through memory, so that the verifier does not know it and
 * follows one path for all steps.
 */
#pragma once

#include "planes/xdp/bpf/take.h"

enum { kGroup = 32, kGroupsMax = INFOLD_XDP_ELEMENTS_MAX / kGroup };
/* Whether elements follow the codes of a contribution. */
enum holds { kNumbers, kCodesAlone };
enum action { kSkipBlock, kStoreBlock, kAddBlock, kShiftAndAddBlock };
/* Mantissas of this width (log2 of their bytes) are the lanes of another aggregator. */
enum { kLaneShift = 3 };

/* Where the parts of a contribution begin. */
struct parts {
  const uint8_t* low;
  const uint8_t* high;
  const uint8_t* elements;
  const uint8_t* end;
};

/* There are no branches, because the verifier would follow both sides of each in every block. */
INLINE int32_t smaller(int32_t a, int32_t b) {
  int32_t is_less = (a - b) >> 31;
  OPAQUE(is_less);
  return b + ((a - b) & is_less);
}
INLINE int32_t larger_code(int32_t a, int32_t b) { return a + b - smaller(a, b); }

/* The smaller code of two blocks. Code 0 stands for an empty block and counts as the largest. */
INLINE int32_t finer(int32_t a, int32_t b) {
  return (smaller((a - 1) & 0xffff, (b - 1) & 0xffff) + 1) & 0xffff;
}

/* Returns -1 if the packet ends before the code, which never happens. A path out of the loop costs
 * the verifier less than a path that continues with fewer known bytes. */
INLINE int32_t read_code(const uint8_t* at, const uint8_t* end, uint32_t block, int wide) {
  if (!wide) return at + block + 1 > end ? -1 : at[block];
  if (at + 2 * block + 2 > end) return -1;
  const int32_t code = bpf_ntohs(*(const uint16_t*)(at + 2 * block));
  return smaller(code, INFOLD_EXPONENT_CODE_MAX_F64);
}

INLINE uint32_t is_set(int32_t value) {
  int32_t negative = -value;
  OPAQUE(negative); /* otherwise clang makes a branch */
  return (uint32_t)(value | negative) >> 31;
}

/* Decides how this block is added to the lanes. Code 0 stands for an empty block. Shifts count from
 * the left of a 64-bit word, where the mantissa is placed to extend its sign. */
INLINE void plan_block(struct work* w, struct infold_xdp_copy* copy, struct infold_xdp_codes* codes,
                       uint32_t block, int32_t low, int32_t high, uint32_t shift) {
  const int32_t lane_low = codes->low[block];
  const int32_t finest = finer(low, lane_low);
  high = larger_code(larger_code(low, high), codes->high[block]);
  codes->high[block] = (uint16_t)high;
  codes->low[block] = (uint16_t)finest;
  const uint32_t lane_shift = (uint32_t)(lane_low - finest);
  const uint32_t mantissa_shift = (uint32_t)(low - finest);
  w->lane_shift = (uint8_t)lane_shift;
  w->mantissa_shift =
      (uint8_t)(shift == kLaneShift ? mantissa_shift : 64 - (8U << shift) - mantissa_shift);
  const uint32_t adds = is_set(low);
  copy->overrange |= (uint8_t)(adds & (uint32_t)(w->spread - (high - finest)) >> 31);
  const uint32_t fresh = 1 - is_set(lane_low);
  const uint32_t action = kAddBlock + is_set((int32_t)lane_shift);
  const uint32_t taken = action - fresh * (action - kStoreBlock);
  w->action = (uint8_t)(taken & (0 - (adds & (1U ^ copy->overrange))));
}

/* All blocks are empty before a chunk's first contribution. */
INLINE void begin_codes(struct infold_xdp_copy* copy, struct infold_xdp_codes* codes) {
  if (copy->has_lanes) return;
  uint64_t* const words = (uint64_t*)codes;
  for (uint32_t i = 0; i < (sizeof(codes->low) + sizeof(codes->high)) / 8; ++i) words[i] = 0;
  copy->has_lanes = 1;
}

/* The mantissa in the lanes' unit. `by` is at least 0, because spreads are limited. */
INLINE int64_t mantissa(const uint8_t* at, uint32_t index, uint32_t shift, uint32_t by) {
  switch (shift) {
    case 0: return (int64_t)((uint64_t)at[index] << 56) >> by;
    case 1: return (int64_t)((uint64_t)((const uint16_t*)at)[index] << 48) >> by;
    case 2: return (int64_t)((uint64_t)((const uint32_t*)at)[index] << 32) >> by;
    default: return (int64_t)(((const uint64_t*)at)[index] << by);
  }
}

INLINE void add_one(int64_t* lane, int64_t value, uint32_t action, uint32_t lane_shift) {
  if (action == kStoreBlock) {
    *lane = value;
  } else {
    *lane = (int64_t)(((uint64_t)*lane << lane_shift) + (uint64_t)value);
  }
}

INLINE void add_group(int64_t* into, const uint8_t* from, const struct work* w, uint32_t shift) {
  const uint32_t by = w->mantissa_shift;
  const uint32_t lane_shift = w->lane_shift;
  switch (w->action) {
    case kStoreBlock:
      UNROLL for (uint32_t i = 0; i < kGroup; ++i) {
        SHIFT_COUNTS_NOT_IN_R4();
        into[i] = mantissa(from, i, shift, by);
      }
      return;
    case kAddBlock:
      UNROLL for (uint32_t i = 0; i < kGroup; ++i) {
        SHIFT_COUNTS_NOT_IN_R4();
        into[i] += mantissa(from, i, shift, by);
      }
      return;
    case kShiftAndAddBlock:
      UNROLL for (uint32_t i = 0; i < kGroup; ++i) {
        SHIFT_COUNTS_NOT_IN_R4();
        into[i] =
            (int64_t)(((uint64_t)into[i] << lane_shift) + (uint64_t)mantissa(from, i, shift, by));
      }
      return;
    default: return;
  }
}

/* Adds element by element, for an incomplete block. */
INLINE void add_singly(const struct work* w, int64_t* into, const uint8_t* from, const uint8_t* end,
                       uint32_t elements, uint32_t shift) {
  const uint32_t by = w->mantissa_shift;
  const uint32_t action = w->action;
  const uint32_t lane_shift = w->lane_shift;
  if (action == kSkipBlock) return;
  for (uint32_t i = 0; i < kGroup; ++i) {
    if (i >= elements) break;
    if (from + ((uint64_t)(i + 1) << shift) > end) break;
    add_one(into + i, mantissa(from, i, shift, by), action, lane_shift);
  }
}

/* Adds the specials that were found earlier, without the lock (planes/xdp/bpf/specials.h). */
INLINE void add_specials(const struct infold_xdp_specials* found, uint32_t elements,
                         struct infold_xdp_copy* copy, struct infold_xdp_codes* codes) {
  const uint32_t words = (elements + 63) >> 6;
  const int first = !copy->has_specials;
  copy->has_specials = 1;
  for (uint32_t i = 0; i < INFOLD_XDP_SPECIAL_WORDS_MAX; ++i) {
    if (i >= words) break;
    codes->sets.plus[i] = (first ? 0 : codes->sets.plus[i]) | found->plus[i];
    codes->sets.minus[i] = (first ? 0 : codes->sets.minus[i]) | found->minus[i];
  }
}

/* Decides the step of a block that begins with this group. Returns false on failure. */
INLINE int begin_group(const struct place* at, struct infold_xdp_codes* codes,
                       const struct parts* from, uint32_t group, uint32_t shift, int wide) {
  if (wide && group & 1) return 1;
  const uint32_t block = wide ? group >> 1 : group;
  const int32_t low = read_code(from->low, from->end, block, wide);
  if (low < 0) return 0;
  const int32_t high = shift == kLaneShift ? read_code(from->high, from->end, block, wide) : low;
  if (high < 0) return 0;
  plan_block(at->w, at->copy, codes, block, low, high, shift);
  return 1;
}

/* Adds complete groups, then the rest. The copy records whether exponents are too far apart. */
INLINE void add_blocks(const struct place* at, struct infold_xdp_codes* codes, int64_t* lane,
                       const struct parts* from, uint32_t shift, int holds, int wide) {
  struct work* const w = at->w;
  const uint32_t whole = w->elements;
  for (uint32_t group = 0; group < kGroupsMax; ++group) {
    const uint32_t first = group * kGroup;
    if (first + kGroup > whole || first + kGroup > config.elements_max) break;
    if (!begin_group(at, codes, from, group, shift, wide)) return;
    if (holds == kCodesAlone) continue;
    const uint8_t* const mantissas = from->elements + ((uint64_t)first << shift);
    if (mantissas + (kGroup << shift) > from->end) return;
    add_group(lane + first, mantissas, w, shift);
  }
  const uint32_t elements = REREAD(w->elements);
  uint32_t first = elements & ~(uint32_t)(kGroup - 1);
  OPAQUE(first); /* so that the compared value is the used one */
  if (elements == first || first > config.elements_max - kGroup) return;
  const uint32_t group = first / kGroup;
  if (!begin_group(at, codes, from, group, shift, wide) || holds == kCodesAlone) return;
  add_singly(w, lane + first, from->elements + ((uint64_t)first << shift), from->end,
             elements & (kGroup - 1), shift);
}

/* Handles ADD, PARTIAL and OVERRANGE. `shift` gives the width of the added lanes or mantissas.
 * Blocks of f64 have separate programs, because in a common program the verifier of Linux 6.1 would
 * follow so many paths that it gives up. */
INLINE int add_contribution(struct xdp_md* ctx, uint32_t shift, int holds, int wide) {
  struct place at;
  if (!find_place(&at)) return XDP_ABORTED;
  struct work* const w = at.w;
  struct infold_xdp_codes* const its_codes = entry(&codes, w->copy);
  int64_t* const lane = entry(&lanes, w->copy);
  const struct infold_xdp_specials* const found = entry(&specials, 0);
  const uint32_t start = w->at;
  if (!its_codes || !lane || !found || start > kDatagramAt6) return XDP_ABORTED;
  uint32_t high_at = 0;
  uint32_t skip = exponent_bytes(w);
  if (shift == kLaneShift && holds == kNumbers) {
    high_at = blocks_of(w) << (w->wide & 1);
    skip = partial_exponent_bytes(w);
  }
  OPAQUE(high_at);
  OPAQUE(skip);
  if (skip > INFOLD_XDP_DATAGRAM_BYTES_MAX || high_at > INFOLD_XDP_DATAGRAM_BYTES_MAX) {
    return XDP_ABORTED;
  }
  w->spread = at.job->spread[w->element_shift & 3];
  const uint8_t* const body = (const uint8_t*)(long)ctx->data + start + INFOLD_HEADER_BYTES;
  const struct parts from = {body, body + high_at, body + skip,
                             (const uint8_t*)(long)ctx->data_end};

  bpf_spin_lock(&at.slot->lock);
  int outcome = admit(at.copy, at.other, at.job, w);
  if (outcome == kAdds) {
    if (holds == kCodesAlone) at.copy->overrange = 1;
    begin_codes(at.copy, its_codes);
    add_blocks(&at, its_codes, lane, &from, shift, holds, wide);
    if (w->has_found) add_specials(found, w->elements, at.copy, its_codes);
    outcome = close(at.copy, at.stored, at.job, w);
  }
  bpf_spin_unlock(&at.slot->lock);
  return settle(ctx, w, at.job, at.copy, outcome);
}

SEC("xdp") int add_bfp8(struct xdp_md* ctx) { return add_contribution(ctx, 0, kNumbers, 0); }
SEC("xdp") int add_bfp16(struct xdp_md* ctx) { return add_contribution(ctx, 1, kNumbers, 0); }
SEC("xdp") int add_bfp32(struct xdp_md* ctx) { return add_contribution(ctx, 2, kNumbers, 0); }
SEC("xdp") int add_wide8(struct xdp_md* ctx) { return add_contribution(ctx, 0, kNumbers, 1); }
SEC("xdp") int add_wide16(struct xdp_md* ctx) { return add_contribution(ctx, 1, kNumbers, 1); }
SEC("xdp") int add_wide32(struct xdp_md* ctx) { return add_contribution(ctx, 2, kNumbers, 1); }
SEC("xdp") int add_partial(struct xdp_md* ctx) {
  return add_contribution(ctx, kLaneShift, kNumbers, 0);
}
SEC("xdp") int add_wide_partial(struct xdp_md* ctx) {
  return add_contribution(ctx, kLaneShift, kNumbers, 1);
}
SEC("xdp") int add_overrange(struct xdp_md* ctx) {
  return add_contribution(ctx, kLaneShift, kCodesAlone, 0);
}
SEC("xdp") int add_wide_overrange(struct xdp_md* ctx) {
  return add_contribution(ctx, kLaneShift, kCodesAlone, 1);
}
