/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends a job, and tells every worker of a tree (spec section 8), as
 * core/aggregator/aggregator_end.cc does. The job's own lock protects its end.
 */
#pragma once

#include "planes/xdp/bpf/asking.h"
#include "planes/xdp/bpf/maps.h"

struct open_chunks {
  struct work* w;
  uint32_t copy_first;
  uint32_t down;
};

/* Looks at one copy of a slot, which the index's last bit chooses. For a worker: does the copy wait
 * for it? For the parent: is the copy open? */
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
  if (is_open) w->is_open = 1;
  return is_open;
}

INLINE uint8_t some_chunk_is_open(const struct infold_xdp_job* job, struct work* w, uint32_t down) {
  w->is_open = 0;
  struct open_chunks open = {w, 2 * job->slot_first, down};
  kernel_loop(2U * job->slot_count, find_open, &open);
  return (uint8_t)w->is_open;
}

/* The reported end, and the messages to send, as decided under the lock. */
struct ending {
  struct infold_abort abort;
  uint32_t verdict;
  uint8_t to;
  uint8_t root_knows;
  uint8_t is_said; /* reported by a packet */
  uint8_t down;
  uint8_t is_from_root;
  uint8_t is_open; /* some chunk still needs the rank that has left */
  uint8_t reserved[2];
};

/* whether this report tells the job something new. */
INLINE int is_news(const struct infold_xdp_job* job, const struct ending* end) {
  return !job->ended || (end->is_from_root && !job->root_knows);
}

INLINE int is_left(const struct infold_abort* abort) {
  return abort->reason.wire == bpf_htons(INFOLD_ABORT_LEFT);
}

/* A job has news of its end at most twice, so ranks cannot make the kernel scan its slots often. */
INLINE int asks_for_open(const struct infold_xdp_job* job, const struct ending* end) {
  return end->is_said && is_news(job, end) && is_left(job->ended ? &job->abort : &end->abort);
}

INLINE void hear_end_from_worker(struct infold_xdp_job* job, struct ending* end, int is_first,
                                 uint32_t worker) {
  const uint8_t parent = job->root_knows ? 0 : INFOLD_XDP_TO_PARENT;
  if (end->is_said && parent) add_asking(job->asking, worker);
  if (is_first) {
    const int is_needed = !is_left(&job->abort) || end->is_open;
    end->to = (is_needed ? INFOLD_XDP_TO_ALL : INFOLD_XDP_TO_WORKER) | parent;
  } else {
    end->to = INFOLD_XDP_TO_WORKER | (end->is_said ? parent : 0);
  }
}

INLINE void hear_end_from_parent(struct infold_xdp_job* job, struct ending* end, int is_first,
                                 int has_news) {
  const uint8_t parent = is_first && !job->root_knows ? INFOLD_XDP_TO_PARENT : 0;
  if (has_news && (!is_left(&job->abort) || end->is_open)) {
    clear_asking(job->asking);
    end->to = INFOLD_XDP_TO_ALL | parent;
  } else if (has_asking(job->asking)) {
    end->to = INFOLD_XDP_TO_ASKING_FOR_END;
  } else {
    end->to = parent;
    if (!has_news) end->verdict = INFOLD_XDP_DROPPED_REPEAT;
  }
}

/* Decides by who is told of the end. */
INLINE void decide_end(struct infold_xdp_job* job, struct ending* end, uint32_t worker) {
  const int has_news = is_news(job, end);
  const int is_first = !job->ended;
  if (end->is_from_root || !job->has_parent) job->root_knows = 1;
  end->verdict = is_first ? INFOLD_XDP_JOB_ENDED : INFOLD_XDP_ANSWERED_ENDED;
  if (is_first) {
    job->ended = 1;
    job->abort = end->abort;
  }
  if (end->down) {
    hear_end_from_parent(job, end, is_first, has_news);
  } else {
    hear_end_from_worker(job, end, is_first, worker);
  }
  end->abort = job->abort;
  end->root_knows = job->root_knows;
}

INLINE void write_end(struct work* w, const struct infold_xdp_job* job, const struct ending* end) {
  struct infold_header* const h = (struct infold_header*)w->small;
  const int only_up = end->to == INFOLD_XDP_TO_PARENT;
  const int to_many = end->to & (INFOLD_XDP_TO_ALL | INFOLD_XDP_TO_ASKING_FOR_END);
  __builtin_memset(h, 0, sizeof(*h));
  h->magic = INFOLD_MAGIC;
  h->version_kind = INFOLD_VERSION << 4 | (only_up ? INFOLD_KIND_ABORT : INFOLD_KIND_ABORTED);
  if (!only_up && !end->root_knows) h->flags = INFOLD_FLAG_PARTIAL;
  h->worker = only_up ? job->parent_worker : to_many ? 0 : w->worker;
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
  __builtin_memcpy(abort->rank_signature, &w->signature, sizeof(w->signature));
  __builtin_memcpy(abort->other_signature, &w->first_signature, sizeof(w->first_signature));
}

SEC("xdp") int take_abort(struct xdp_md* ctx) {
  struct work* const w = entry(&works, 0);
  if (!w) return XDP_ABORTED;
  struct infold_xdp_job* const job = entry(&jobs, w->job);
  const uint32_t at = w->at;
  if (!job || at > kDatagramAt6) return XDP_ABORTED;
  struct ending end = {0};
  end.is_said = w->end_cause == kSaidByPacket;
  end.down = end.is_said && w->kind == INFOLD_KIND_ABORTED;
  end.is_from_root = end.down && !(w->flags & INFOLD_FLAG_PARTIAL);
  if (w->end_cause == kMismatchedSignature) {
    describe_mismatch(w, &end.abort);
  } else if (end.is_said &&
             bpf_xdp_load_bytes(ctx, at + INFOLD_HEADER_BYTES, &end.abort, sizeof(end.abort))) {
    return XDP_ABORTED;
  }
  /* This holds if no scan is made here and another processor changes the job's end: all may be
   * told. */
  end.is_open = 1;
  if (asks_for_open(job, &end)) end.is_open = some_chunk_is_open(job, w, end.down);

  bpf_spin_lock(&job->lock);
  decide_end(job, &end, w->worker);
  bpf_spin_unlock(&job->lock);
  count(w, end.verdict);
  if (end.to == 0) return XDP_DROP;
  write_end(w, job, &end);
  return go_on(ctx, kAnswer);
}
