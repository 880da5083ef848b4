/* SPDX-License-Identifier: Apache-2.0
 *
 * The programs that take contributions without exponents: integers, and packets without a body.
 */
#pragma once

#include "planes/xdp/bpf/combine.h"
#include "planes/xdp/bpf/settle.h"

/* The values of all maps that a contribution needs. */
struct place {
  struct work* w;
  struct infold_xdp_job* job;
  struct infold_xdp_slot* slot;
  struct infold_xdp_copy* copy;
  const struct infold_xdp_copy* other;
  uint8_t* stored;
};

INLINE int find_place(struct place* place) {
  struct work* const w = entry(&works, 0);
  if (!w) return 0;
  place->w = w;
  place->job = entry(&jobs, w->job);
  place->slot = entry(&slots, w->slot);
  place->stored = entry(&stored, w->copy);
  if (!place->job || !place->slot || !place->stored) return 0;
  place->copy = &place->slot->copies[w->copy & 1];
  place->other = &place->slot->copies[~w->copy & 1];
  return 1;
}

/* Takes SKIP and QUERY, and all packets that are known to be repeats. If another processor has
 * begun the slot's next chunk meanwhile, the packet is not a repeat, and its worker retransmits
 * it. */
SEC("xdp") int take_bare(struct xdp_md* ctx) {
  struct place at;
  if (!find_place(&at)) return XDP_ABORTED;
  const int is_skip = at.w->kind == INFOLD_KIND_SKIP && at.w->is_verified;
  bpf_spin_lock(&at.slot->lock);
  int outcome = admit(at.copy, at.other, at.job, at.w);
  if (outcome == kAdds) outcome = is_skip ? close(at.copy, at.stored, at.job, at.w) : kBusy;
  bpf_spin_unlock(&at.slot->lock);
  return settle(ctx, at.w, at.job, at.copy, outcome);
}

INLINE void add_elements(struct xdp_md* ctx, const struct place* at, const uint8_t* elements) {
  const uint8_t* const end = (const uint8_t*)(long)ctx->data_end;
  uint8_t* const sum = at->stored + INFOLD_HEADER_BYTES;
  const uint32_t room = config.stored_bytes_max; /* the slack is longer than the header */
  const uint32_t shift = at->w->element_shift;
  const uint32_t* const bytes = &at->w->element_bytes;
  if (!at->copy->has_lanes) {
    at->copy->has_lanes = 1;
    combine(sum, room, elements, end, bytes, 0, kStore);
    return;
  }
  const uint32_t reduction = at->w->reduction;
  if (reduction == INFOLD_REDUCTION_OR) {
    /* Bits are independent of an element's width, and every element ends at a byte. */
    combine(sum, room, elements, end, bytes, 0, kOr);
    return;
  }
  const int how = reduction == INFOLD_REDUCTION_MIN   ? kMin
                  : reduction == INFOLD_REDUCTION_MAX ? kMax
                                                      : kSum;
  switch (how * 4 + (int)shift) {
    case kSum * 4 + 0: combine(sum, room, elements, end, bytes, 0, kSum); return;
    case kSum * 4 + 1: combine(sum, room, elements, end, bytes, 1, kSum); return;
    case kSum * 4 + 2: combine(sum, room, elements, end, bytes, 2, kSum); return;
    case kSum * 4 + 3: combine(sum, room, elements, end, bytes, 3, kSum); return;
    case kMin * 4 + 0: combine(sum, room, elements, end, bytes, 0, kMin); return;
    case kMin * 4 + 1: combine(sum, room, elements, end, bytes, 1, kMin); return;
    case kMin * 4 + 2: combine(sum, room, elements, end, bytes, 2, kMin); return;
    case kMin * 4 + 3: combine(sum, room, elements, end, bytes, 3, kMin); return;
    case kMax * 4 + 0: combine(sum, room, elements, end, bytes, 0, kMax); return;
    case kMax * 4 + 1: combine(sum, room, elements, end, bytes, 1, kMax); return;
    case kMax * 4 + 2: combine(sum, room, elements, end, bytes, 2, kMax); return;
    case kMax * 4 + 3: combine(sum, room, elements, end, bytes, 3, kMax); return;
    default: return;
  }
}

SEC("xdp") int add_integers(struct xdp_md* ctx) {
  struct place at;
  if (!find_place(&at)) return XDP_ABORTED;
  uint32_t from = at.w->at + INFOLD_HEADER_BYTES;
  if (from > kDatagramAt6 + INFOLD_HEADER_BYTES) return XDP_ABORTED;
  const uint8_t* const elements = (const uint8_t*)(long)ctx->data + from;
  bpf_spin_lock(&at.slot->lock);
  int outcome = admit(at.copy, at.other, at.job, at.w);
  if (outcome == kAdds) {
    add_elements(ctx, &at, elements);
    outcome = close(at.copy, at.stored, at.job, at.w);
  }
  bpf_spin_unlock(&at.slot->lock);
  return settle(ctx, at.w, at.job, at.copy, outcome);
}
