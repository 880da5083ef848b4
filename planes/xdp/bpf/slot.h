/* SPDX-License-Identifier: Apache-2.0
 *
 * The slot rules (spec section 5), as in core/aggregator/aggregator_slots.cc. This code runs under
 * the slot's lock, where kernel 6.1 does not permit calls, so all of it is inlined. If the answer
 * to a completed copy takes work, the copy gets the phase CLOSING. Then only its processor uses it,
 * without the lock.
 */
#pragma once

#include "planes/xdp/bpf/parse.h"

enum outcome {
  kStale,
  kEarly,
  kEnded,     /* the job has ended, and the chunk is not complete */
  kAsksNext,  /* a query for a chunk without contributions */
  kBusy,      /* another processor has just changed the copy */
  kRepeats,   /* the contribution is known; w->answer_* and w->seen have the state */
  kMismatch,  /* the signature differs from the chunk's */
  kAdds,      /* a new contribution, to be added now */
  kTaken,     /* a contribution that was added */
  kCloses,    /* the last contribution; the answer is not written yet */
  kCompleted, /* the last contribution; the answer is in `stored` */
};

INLINE int all_in(const uint64_t* seen, const struct infold_xdp_job* job) {
  return seen[0] == job->expected[0] && seen[1] == job->expected[1] &&
         seen[2] == job->expected[2] && seen[3] == job->expected[3];
}

INLINE int has_seen(const struct infold_xdp_copy* copy, uint32_t worker) {
  return copy->seen[worker >> 6 & 3] >> (worker & 63) & 1;
}

INLINE void note_seen(const struct infold_xdp_copy* copy, struct work* w) {
  w->seen[0] = copy->seen[0];
  w->seen[1] = copy->seen[1];
  w->seen[2] = copy->seen[2];
  w->seen[3] = copy->seen[3];
}

/* R-067, from bytes 16 to 23 of the header. The answer to such a chunk is a RESULT. */
INLINE int may_be_brief(uint64_t signature, uint32_t count, uint32_t weight) {
  const uint8_t* const byte = (const uint8_t*)&signature;
  return count == 1 && weight == 1 && (byte[0] | byte[1]) != 0 &&
         (byte[2] & 15) < INFOLD_FORMAT_BFP8 && byte[3] >> 4 == INFOLD_COLLECTIVE_BROADCAST;
}

INLINE void note_answer(const struct infold_xdp_copy* copy, struct work* w) {
  const uint32_t sum = REREAD(copy->stored_sum);
  w->answer_bytes = copy->stored_bytes;
  w->answer_sum = sum >> 16 == (w->round & 0xffff) ? sum & 0xffff : 0;
  w->may_be_brief =
      (uint8_t)may_be_brief(copy->signature, copy->contributors.count, copy->contributors.weight);
  w->answer_digest = copy->contributors.digest;
}

/* From here on, other processors may read the answer without the lock. It is stored before they see
 * the new phase. */
INLINE void become_done(struct infold_xdp_copy* copy) {
  union {
    uint32_t word; /* the kernel has no atomic exchange of bytes */
    uint8_t phase;
  } state = {*(const uint32_t*)&copy->phase};
  state.phase = INFOLD_XDP_DONE;
  __sync_lock_test_and_set((uint32_t*)&copy->phase, state.word);
}

INLINE void begin(struct infold_xdp_copy* copy, const struct work* w) {
  /* Other processors read without the lock. One that sees the new round does not see a worker of
   * the old one in `seen`. It also sees the new round before any new byte overwrites the old
   * answer. */
  UNROLL for (uint32_t i = 0; i < INFOLD_XDP_SEEN_WORDS; ++i) copy->seen[i] = 0;
  __sync_lock_test_and_set(&copy->round, w->round);
  copy->phase = INFOLD_XDP_COLLECTING;
  copy->overrange = 0;
  copy->has_lanes = 0;
  copy->has_specials = 0;
  copy->signature = w->signature;
  copy->stored_bytes = 0;
  copy->stored_sum = 0;
  copy->first_worker = w->worker;
  copy->contributors.count = 0;
  copy->contributors.weight = 0;
  copy->contributors.digest = 0;
}

/* Applies, before any elements are used. */
INLINE int admit(struct infold_xdp_copy* copy, const struct infold_xdp_copy* other,
                 const struct infold_xdp_job* job, struct work* w) {
  const int32_t ahead = (int32_t)(w->round - copy->round);
  if (ahead < 0) return kStale;
  if (ahead == 0 && copy->stored_bytes == 0 && copy->phase == INFOLD_XDP_DONE) return kStale;
  const int is_next = ahead != 0;
  if (is_next && !(ahead == 2 && copy->phase == INFOLD_XDP_DONE &&
                   other->phase == INFOLD_XDP_DONE && other->round + 1 == w->round)) {
    return kEarly;
  }
  if (job->ended && (is_next || copy->phase == INFOLD_XDP_COLLECTING)) return kEnded;
  const int is_query = w->kind == INFOLD_KIND_QUERY;
  if (is_next && is_query) return kAsksNext;
  if (is_next) begin(copy, w);
  if (is_query || has_seen(copy, w->worker)) {
    note_seen(copy, w);
    w->answer_from = copy->phase;
    note_answer(copy, w);
    return kRepeats;
  }
  if (copy->signature != w->signature) {
    w->first_worker = copy->first_worker;
    w->first_signature = copy->signature;
    return kMismatch;
  }
  return kAdds;
}

/* Reads enough of a copy without its lock to see that a packet cannot change it. A round only
 * grows, and a worker stays in `seen`, so that what was true stays true. If the copy is forwarded,
 * a repeat marks its worker as asking. */
INLINE int changes_nothing(const struct infold_xdp_copy* copy, const struct work* w) {
  const int32_t ahead = (int32_t)(w->round - REREAD(copy->round));
  if (ahead < 0) return 1;
  return ahead == 0 && w->kind != INFOLD_KIND_QUERY && has_seen(copy, w->worker) &&
         REREAD(copy->phase) != INFOLD_XDP_FORWARDED;
}

INLINE void write_header(uint8_t* out, uint32_t kind, uint32_t flags,
                         const struct infold_xdp_copy* copy, const struct infold_xdp_job* job,
                         const struct work* w) {
  struct infold_header* const h = (struct infold_header*)out;
  h->magic = INFOLD_MAGIC;
  h->version_kind = (uint8_t)(INFOLD_VERSION << 4 | kind);
  h->flags = (uint8_t)flags;
  h->worker = job->has_parent ? job->parent_worker : w->worker;
  h->job = infold_to_be16(job->number);
  h->slot = infold_to_be16((uint16_t)(w->slot - job->slot_first));
  h->epoch = infold_to_be32(job->epoch);
  h->round = infold_to_be32(copy->round);
  *(uint64_t*)&h->elements = copy->signature;
  h->contributors = infold_to_be16(copy->contributors.count);
  h->weight = infold_to_be16(copy->contributors.weight);
  h->contributor_digest = infold_to_be32(copy->contributors.digest);
}

/* Marks the contribution, and decides whether it was the last one. For integers and skips, `stored`
 * already contains the answer, except for its header. */
INLINE int close(struct infold_xdp_copy* copy, uint8_t* answer, const struct infold_xdp_job* job,
                 struct work* w) {
  copy->seen[w->worker >> 6 & 3] |= 1ULL << (w->worker & 63);
  copy->contributors.count += w->contributors.count;
  copy->contributors.weight += w->contributors.weight;
  copy->contributors.digest += w->contributors.digest;
  if (!all_in(copy->seen, job)) return kTaken;
  if ((w->is_blocks || w->is_native) && copy->has_lanes) {
    copy->phase = INFOLD_XDP_CLOSING;
    return kCloses;
  }
  uint32_t kind = INFOLD_KIND_RESULT;
  if (job->has_parent) kind = copy->has_lanes ? INFOLD_KIND_ADD : INFOLD_KIND_SKIP;
  write_header(answer, kind, 0, copy, job, w);
  copy->stored_bytes = INFOLD_HEADER_BYTES;
  if (copy->has_lanes) copy->stored_bytes += w->elements << w->element_shift;
  if (job->has_parent) {
    copy->phase = INFOLD_XDP_FORWARDED;
  } else {
    become_done(copy);
  }
  w->answer_sum = 0;
  return kCompleted;
}
