/* SPDX-License-Identifier: Apache-2.0
 *
 * How a job ends, and how that reaches every worker of a tree (spec section 8), mirroring
 * core/aggregator_end.cc. What ends is the job, under the job's own lock.
 */
#pragma once

#include "bpf/maps.h"

struct open_chunks {
  struct work* w;
  uint32_t copy_first;
  uint32_t down;
};

/* One copy of one slot, the last bit of the index says which: does it wait for the worker, or,
 * asked by the parent, is it open at all? */
static long find_open(uint32_t index, const void* context) {
  const struct open_chunks* const open = context;
  struct work* const w = open->w;
  index += open->copy_first;
  const struct infold_xdp_slot* const slot = entry(&slots, index >> 1);
  if (!slot) return 1;
  const struct infold_xdp_copy* const copy = &slot->copies[index & 1];
  const int is_open = open->down ? copy->phase != INFOLD_XDP_DONE
                                 : copy->phase == INFOLD_XDP_COLLECTING &&
                                       !(copy->seen[w->worker >> 6 & 3] >> (w->worker & 63) & 1);
  if (is_open) {
    w->is_open = 1;
  } else {
    ++w->first;
  }
  return is_open;
}

/* Looks at each copy once after the end, where no chunk begins any more, and before it once only,
 * since what asks for it ends the job. */
INLINE uint32_t some_chunk_is_open(struct infold_xdp_job* job, struct work* w, int down) {
  w->is_open = 0;
  const uint32_t copies = 2U * job->slot_count;
  const uint32_t from = job->ended ? job->first_open : 0;
  w->first = from;
  struct open_chunks open = {w, 2 * job->slot_first + from, (uint32_t)down};
  if (from < copies) kernel_loop(copies - from, find_open, &open);
  if (job->ended && down) job->first_open = w->first;
  return w->is_open;
}

/* whether that matters. It does when a rank has left, and of what the parent says then. */
INLINE int asks_for_open(const struct infold_xdp_job* job, const struct infold_abort* said,
                         int down) {
  const uint16_t left = bpf_htons(INFOLD_ABORT_LEFT);
  return job->ended ? down && job->abort.reason.wire == left : said->reason.wire == left;
}

/* What is to be said and to whom, as decided under the lock. */
struct ending {
  struct infold_abort abort;
  uint32_t verdict;
  uint8_t to;
  uint8_t root_knows;
};

/* `is_open` is some_chunk_is_open's answer. */
INLINE void decide_end(struct infold_xdp_job* job, struct ending* end, int down, int is_said,
                       uint32_t is_open) {
  const uint8_t parent = job->root_knows ? 0 : INFOLD_XDP_TO_PARENT;
  end->to = 0;
  if (!job->ended) {
    job->ended = 1;
    job->abort = end->abort;
    end->verdict = INFOLD_XDP_JOB_ENDED;
    const int is_needed = end->abort.reason.wire != bpf_htons(INFOLD_ABORT_LEFT) || is_open;
    if (is_needed) {
      end->to = INFOLD_XDP_TO_ALL | parent;
    } else {
      end->to = down ? parent : INFOLD_XDP_TO_WORKER | parent;
    }
  } else {
    end->verdict = INFOLD_XDP_ANSWERED_ENDED;
    if (down) {
      const int is_needed = job->abort.reason.wire != bpf_htons(INFOLD_ABORT_LEFT) || is_open;
      end->to = is_needed ? INFOLD_XDP_TO_ALL : 0;
    } else {
      end->to = INFOLD_XDP_TO_WORKER | (is_said ? parent : 0);
    }
  }
  end->abort = job->abort;
  end->root_knows = job->root_knows;
}

INLINE void write_end(struct work* w, const struct infold_xdp_job* job, const struct ending* end) {
  struct infold_header* const h = (struct infold_header*)w->small;
  const int only_up = end->to == INFOLD_XDP_TO_PARENT;
  const int to_all = end->to & INFOLD_XDP_TO_ALL;
  __builtin_memset(h, 0, sizeof(*h));
  h->magic = INFOLD_MAGIC;
  h->version_kind = INFOLD_VERSION << 4 | (only_up ? INFOLD_KIND_ABORT : INFOLD_KIND_ABORTED);
  if (!only_up && !end->root_knows) h->flags = INFOLD_FLAG_PARTIAL;
  h->worker = only_up ? job->parent_worker : to_all ? 0 : w->worker;
  h->job = infold_to_be16(job->number);
  h->epoch = infold_to_be32(job->epoch);
  __builtin_memcpy(w->small + INFOLD_HEADER_BYTES, &end->abort, sizeof(end->abort));
  w->answer_bytes = INFOLD_HEADER_BYTES + sizeof(end->abort);
  w->answer_from = kFromSmall;
  w->answer_sum = 0;
  w->answer_to = end->to;
}

INLINE void describe_mismatch(const struct work* w, struct infold_abort* abort) {
  const uint32_t base = w->job * INFOLD_XDP_MEMBERS;
  const struct infold_xdp_member* const one = entry(&members, base + w->worker);
  const struct infold_xdp_member* const other = entry(&members, base + w->first_worker);
  if (!one || !other) return;
  abort->reason = infold_to_be16(INFOLD_ABORT_MISMATCH);
  abort->rank = infold_to_be16(one->first);
  abort->other = infold_to_be16(other->first);
  __builtin_memcpy(abort->rank_words, &w->words, sizeof(w->words));
  __builtin_memcpy(abort->other_words, &w->first_words, sizeof(w->first_words));
}

SEC("xdp") int take_abort(struct xdp_md* ctx) {
  struct work* const w = entry(&works, 0);
  if (!w) return XDP_ABORTED;
  struct infold_xdp_job* const job = entry(&jobs, w->job);
  const uint32_t at = w->at;
  if (!job || at > kDatagramAt6) return XDP_ABORTED;
  struct ending end = {0};
  const int is_said = w->end_cause == kSaidByPacket;
  const int down = is_said && w->kind == INFOLD_KIND_ABORTED;
  if (w->end_cause == kMismatchedWords) {
    describe_mismatch(w, &end.abort);
  } else if (is_said &&
             bpf_xdp_load_bytes(ctx, at + INFOLD_HEADER_BYTES, &end.abort, sizeof(end.abort))) {
    return XDP_ABORTED;
  }
  const int root_knows = !job->has_parent || (down && !(w->flags & INFOLD_FLAG_PARTIAL));
  /* Where nobody looked, another processor has ended the job meanwhile: all may be told. */
  uint32_t is_open = 1;
  if (is_said && asks_for_open(job, &end.abort, down)) is_open = some_chunk_is_open(job, w, down);

  bpf_spin_lock(&job->lock);
  if (root_knows) job->root_knows = 1;
  decide_end(job, &end, down, is_said, is_open);
  bpf_spin_unlock(&job->lock);
  count(w, end.verdict);
  if (end.to == 0) return XDP_DROP;
  write_end(w, job, &end);
  return go_on(ctx, kAnswer);
}
