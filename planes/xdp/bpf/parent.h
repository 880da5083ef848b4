/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles packets from the parent. Its answers go to all workers unchanged, and are stored
 * for repeats. PENDING goes to the asking workers.
 */
#pragma once

#include "planes/xdp/bpf/take.h"

enum parental { kTheAnswer, kTheMissing, kNotAwaited };

/* Whether the packet answers a chunk that went up. Otherwise sets `why` to the counter. */
INLINE int match_parent(struct infold_xdp_copy* copy, const struct work* w, uint32_t* why) {
  if (copy->round != w->round) {
    *why = (int32_t)(w->round - copy->round) < 0 ? INFOLD_XDP_DROPPED_STALE_ROUND
                                                 : INFOLD_XDP_DROPPED_EARLY_ROUND;
    return kNotAwaited;
  }
  if (copy->phase != INFOLD_XDP_FORWARDED) {
    *why = INFOLD_XDP_DROPPED_REPEAT;
    return kNotAwaited;
  }
  if (copy->signature != w->signature) {
    *why = INFOLD_XDP_DROPPED_MALFORMED;
    return kNotAwaited;
  }
  if (w->kind == INFOLD_KIND_PENDING) return kTheMissing;
  copy->phase = INFOLD_XDP_CLOSING;
  return kTheAnswer;
}

INLINE int send_missing(struct xdp_md* ctx, struct work* w, const struct infold_xdp_slot* slot) {
  if (!has_asking(slot->asking)) return drop(w, INFOLD_XDP_DROPPED_REPEAT);
  w->answer_to = INFOLD_XDP_TO_ASKING;
  count(w, INFOLD_XDP_ANSWERED_PENDING);
  return go_on(ctx, kAnswer);
}

SEC("xdp") int take_from_parent(struct xdp_md* ctx) {
  struct place at;
  if (!find_place(&at)) return XDP_ABORTED;
  struct work* const w = at.w;
  uint32_t bytes = w->bytes;
  const uint32_t from = w->at;
  uint32_t why = 0;
  bpf_spin_lock(&at.slot->lock);
  const int match = match_parent(at.copy, w, &why);
  bpf_spin_unlock(&at.slot->lock);
  if (match == kNotAwaited) return drop(w, why);

  w->answer_bytes = bytes;
  w->answer_sum = 0;
  w->answer_from = kFromPacket;
  if (match == kTheMissing) return send_missing(ctx, w, at.slot);
  w->answer_to = INFOLD_XDP_TO_ALL;
  OPAQUE(bytes);
  if (bytes < INFOLD_HEADER_BYTES || bytes > config.stored_bytes_max || from > kDatagramAt6)
    return XDP_ABORTED;
  bpf_xdp_load_bytes(ctx, from, at.stored, bytes);
  bpf_spin_lock(&at.slot->lock);
  at.copy->stored_bytes = (uint16_t)bytes;
  at.copy->stored_sum = 0;
  at.copy->contributors = w->contributors;
  become_done(at.copy);
  clear_asking(at.slot->asking);
  bpf_spin_unlock(&at.slot->lock);
  count(w, INFOLD_XDP_DELIVERED);
  return go_on(ctx, kAnswer);
}
