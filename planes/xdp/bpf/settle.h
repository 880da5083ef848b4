/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs after the slot rules, without the lock: counts the verdict, and goes on to the program that
 * writes the answer, if there is one.
 */
#pragma once

#include "planes/xdp/bpf/asking.h"
#include "planes/xdp/bpf/slot.h"

INLINE int answer(struct xdp_md* ctx, struct work* w, uint32_t verdict, uint32_t to) {
  count(w, verdict);
  w->answer_to = (uint8_t)to;
  w->answer_from = kFromStored;
  return go_on(ctx, kAnswer);
}

/* Only verified packets may do this, because a copy that was forwarded just now is seen without a
 * checksum. */
INLINE void note_asking(const struct work* w) {
  struct infold_xdp_slot* const slot = entry(&slots, w->slot);
  struct infold_xdp_job* const job = entry(&jobs, w->job);
  if (!slot || !job || !w->is_verified) return;
  add_asking(slot->asking, w->worker);
  if (job->ended) add_asking(job->asking, w->worker);
}

/* answers a repeated packet. */
INLINE int answer_repeat(struct xdp_md* ctx, struct work* w) {
  switch (w->answer_from) { /* the copy's phase */
    case INFOLD_XDP_DONE:
      shorten(w);
      return answer(ctx, w, INFOLD_XDP_REPLAYED, INFOLD_XDP_TO_WORKER);
    case INFOLD_XDP_FORWARDED:
      note_asking(w);
      return answer(ctx, w, INFOLD_XDP_FORWARDED_AGAIN, INFOLD_XDP_TO_PARENT);
    case INFOLD_XDP_COLLECTING: return go_on(ctx, kAnswerPending);
    default: return drop(w, INFOLD_XDP_DROPPED_BUSY);
  }
}

INLINE int write_answer(struct xdp_md* ctx, struct work* w, const struct infold_xdp_job* job,
                        const struct infold_xdp_copy* copy) {
  if (w->is_native) return go_on(ctx, kWriteF32 + w->dtype);
  if (copy->overrange) return go_on(ctx, kWriteCodes);
  if (job->has_parent) return go_on(ctx, kWritePartial);
  switch (w->element_shift) {
    case 0: return go_on(ctx, kWriteResult8);
    case 1: return go_on(ctx, kWriteResult16);
    default: return go_on(ctx, kWriteResult32);
  }
}

INLINE int settle(struct xdp_md* ctx, struct work* w, const struct infold_xdp_job* job,
                  const struct infold_xdp_copy* copy, int outcome) {
  switch (outcome) {
    case kTaken: count(w, INFOLD_XDP_CONTRIBUTED); return XDP_DROP;
    case kCompleted:
      w->answer_bytes = copy->stored_bytes;
      return answer(ctx, w, INFOLD_XDP_COMPLETED,
                    job->has_parent ? INFOLD_XDP_TO_PARENT : INFOLD_XDP_TO_ALL);
    case kCloses: return write_answer(ctx, w, job, copy);
    case kRepeats: return answer_repeat(ctx, w);
    case kAsksNext:
      UNROLL for (uint32_t i = 0; i < INFOLD_XDP_SEEN_WORDS; ++i) w->seen[i] = 0;
      return go_on(ctx, kAnswerPending);
    case kBusy: return drop(w, INFOLD_XDP_DROPPED_BUSY);
    case kStale: return drop(w, INFOLD_XDP_DROPPED_STALE_ROUND);
    case kEarly: return drop(w, INFOLD_XDP_DROPPED_EARLY_ROUND);
    case kEnded:
    case kMismatch:
      w->end_cause = outcome == kMismatch ? kMismatchedSignature : kEndedBefore;
      return go_on(ctx, kTakeAbort);
    default: return XDP_ABORTED;
  }
}
