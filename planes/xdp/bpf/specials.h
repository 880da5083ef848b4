/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds NaN and infinities in a contribution before the lock is taken. They become two sets
 * of bits in the processor's own memory, and zeros in the packet, which is then added like any
 * other. A partial sum contains its sets.
 */
#pragma once

#include "planes/xdp/bpf/entry.h"

enum { kSearched = 32 };

struct search {
  struct xdp_md* ctx;
  struct work* w;
  struct infold_xdp_specials* found;
  uint32_t at; /* of the elements in the frame */
};

INLINE int64_t load_element(const uint8_t* at, uint32_t shift) {
  return shift == 0 ? *(const int8_t*)at : shift == 1 ? *(const int16_t*)at : *(const int32_t*)at;
}

INLINE void clear_element(uint8_t* at, uint32_t shift) {
  switch (shift) {
    case 0: *at = 0; return;
    case 1: *(uint16_t*)at = 0; return;
    default: *(uint32_t*)at = 0; return;
  }
}

/* Fills half a word of each set. */
INLINE long search_group(uint32_t group, const struct search* in, uint32_t shift) {
  const int64_t largest = (int64_t)(~0ULL >> 1 >> (64 - (8U << shift)));
  const uint8_t* const end = (const uint8_t*)(long)in->ctx->data_end;
  uint32_t at = in->at + (group * kSearched << shift);
  OPAQUE(at);
  if (at > INFOLD_XDP_REWIND_BYTES_MAX || group >= 2 * INFOLD_XDP_SPECIAL_WORDS_MAX) return 1;
  uint8_t* const element = (uint8_t*)(long)in->ctx->data + at;
  uint32_t left = in->w->elements - group * kSearched;
  uint32_t plus = 0;
  uint32_t minus = 0;
  for (uint32_t i = 0; i < kSearched; ++i) {
    if (i >= left || element + ((i + 1) << shift) > end) break;
    const int64_t value = load_element(element + (i << shift), shift);
    if (value > -largest && value < largest) continue;
    if (value != -largest) plus |= 1U << i;
    if (value != largest) minus |= 1U << i;
    clear_element(element + (i << shift), shift);
  }
  ((uint32_t*)in->found->plus)[group] = plus;
  ((uint32_t*)in->found->minus)[group] = minus;
  return 0;
}

static long search_group8(uint32_t group, const void* in) { return search_group(group, in, 0); }
static long search_group16(uint32_t group, const void* in) { return search_group(group, in, 1); }
static long search_group32(uint32_t group, const void* in) { return search_group(group, in, 2); }

INLINE int copy_sets(const struct search* in) {
  const uint32_t words = (in->w->elements + 63) >> 6;
  if (words == 0) return 1;
  /* The result is from 8 to 512, which the verifier can see as well. */
  const uint32_t bytes = 8 * ((words - 1) & 63) + 8;
  const uint32_t at =
      in->w->at + INFOLD_HEADER_BYTES + partial_exponent_bytes(in->w) + 8 * in->w->elements;
  return bpf_xdp_load_bytes(in->ctx, at, in->found->plus, bytes) == 0 &&
         bpf_xdp_load_bytes(in->ctx, at + bytes, in->found->minus, bytes) == 0;
}

SEC("xdp") int take_specials(struct xdp_md* ctx) {
  struct search in = {ctx, entry(&works, 0), entry(&specials, 0), 0};
  if (!in.w || !in.found) return XDP_ABORTED;
  in.w->has_found = 1;
  if (in.w->kind == INFOLD_KIND_PARTIAL) {
    return copy_sets(&in) ? go_on(ctx, kAddPartial + in.w->wide) : XDP_ABORTED;
  }
  in.at = in.w->at + INFOLD_HEADER_BYTES + exponent_bytes(in.w);
  /* Searches complete words, so that nothing remains from the packet before. */
  const uint32_t groups = 2 * ((in.w->elements + 63) >> 6);
  switch (in.w->element_shift) {
    case 0: kernel_loop(groups, search_group8, &in); return go_on(ctx, add_blocks_program(in.w));
    case 1: kernel_loop(groups, search_group16, &in); return go_on(ctx, add_blocks_program(in.w));
    default: kernel_loop(groups, search_group32, &in); return go_on(ctx, add_blocks_program(in.w));
  }
}
