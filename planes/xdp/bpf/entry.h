/* SPDX-License-Identifier: Apache-2.0
 *
 * The first program for each packet. Decides whether the packet is ours and belongs to a job here,
 * and which program handles it, as core::Aggregator::dispatch does.
 */
#pragma once

#include "planes/xdp/bpf/address.h"
#include "planes/xdp/bpf/answer.h"
#include "planes/xdp/bpf/settle.h"

enum { kNoVerdict = -1 };
/* The kinds of datagrams that are not packets of a job. No packet can have these kinds. The kind is
 * in memory, so that the verifier follows one path through the checksum and not two. */
enum { kProbe = 0, kEcho = 15 };

INLINE int add_blocks_program(const struct work* w) {
  return (w->wide ? kAddWide8 : kAddBfp8) + w->element_shift;
}

INLINE int program_of(const struct work* w) {
  if (travels_down(w->kind)) return kTakeFromParent;
  const int specials = w->is_blocks && w->flags & INFOLD_FLAG_SPECIALS;
  switch (w->kind) {
    case INFOLD_KIND_ADD:
      if (w->is_native) return kAddF32 + w->dtype;
      if (!w->is_blocks) return kAddIntegers;
      return specials ? kTakeSpecials : add_blocks_program(w);
    case INFOLD_KIND_PARTIAL: return specials ? kTakeSpecials : kAddPartial + w->wide;
    case INFOLD_KIND_OVERRANGE: return kAddOverrange + w->wide;
    default: return kTakeBare;
  }
}

/* Each call with a constant index becomes a direct jump. */
INLINE int jump(struct xdp_md* ctx, int program) {
  switch (program) {
    case kAddIntegers: return go_on(ctx, kAddIntegers);
    case kAddF32: return go_on(ctx, kAddF32);
    case kAddBfp8: return go_on(ctx, kAddBfp8);
    case kAddBfp16: return go_on(ctx, kAddBfp16);
    case kAddBfp32: return go_on(ctx, kAddBfp32);
    case kTakeBare: return go_on(ctx, kTakeBare);
    default: return go_on(ctx, (uint32_t)program);
  }
}

/* Checks in the order of R-007. */
INLINE int check_job(struct xdp_md* ctx, const struct infold_header* h,
                     const struct infold_xdp_job* job, struct work* w) {
  if (infold_from_be32(h->epoch) != job->epoch) return INFOLD_XDP_DROPPED_STALE_EPOCH;
  if (w->flags & INFOLD_FLAG_TAGGED) return INFOLD_XDP_DROPPED_TAG;
  const int down = travels_down(w->kind);
  if (down && (!job->has_parent || !is_from_parent(ctx, w))) return INFOLD_XDP_DROPPED_WRONG_WAY;
  if (!down && w->worker >= job->workers) return INFOLD_XDP_DROPPED_BAD_WORKER;
  if (!down && !is_from_source(ctx, w)) {
    note_wrong_source(ctx, job, w);
    return INFOLD_XDP_DROPPED_WRONG_SOURCE;
  }
  if (ends_job(w->kind)) {
    const uint8_t* const end = (const uint8_t*)(long)ctx->data_end;
    return names_members(h, end, job) ? kNoVerdict : INFOLD_XDP_DROPPED_MALFORMED;
  }
  const uint32_t slot = infold_from_be16(h->slot);
  if (slot >= job->slot_count) return INFOLD_XDP_DROPPED_BAD_SLOT;
  if (!fits_limits(job, w)) return INFOLD_XDP_DROPPED_LIMITS;
  if (w->is_native && !sums_native(job, w)) return INFOLD_XDP_DROPPED_MALFORMED;
  if (!down && !fits_worker(h, w)) return INFOLD_XDP_DROPPED_MALFORMED;
  w->slot = job->slot_first + slot;
  w->copy = 2 * w->slot + (w->round & 1);
  return kNoVerdict;
}

/* The program itself answers probes, so that the echo takes the path that results will take.
 * It looks the packet up again. With a pointer kept across the checksum, the verifier would follow
 * the checksum once for IPv4 and once for IPv6. */
INLINE int answer_probe(struct xdp_md* ctx, struct work* w) {
  const uint32_t at = w->at;
  const uint8_t magic = INFOLD_ECHO_MAGIC;
  if (at > kDatagramAt6 || bpf_xdp_store_bytes(ctx, at, (void*)&magic, 1)) return XDP_ABORTED;
  count(w, INFOLD_XDP_ANSWERED_PROBE);
  w->job = 0; /* not a job's, but a note needs a value */
  w->answer_from = kFromPacket;
  w->answer_to = INFOLD_XDP_TO_SENDER;
  w->answer_bytes = w->bytes;
  w->answer_sum = 0;
  return go_on(ctx, kAnswer);
}

/* Whether a datagram is the echo of our host's probe to a job's parent. It has the job's number and
 * epoch in the same places as a header. It shows the parent's next hop before the first sum. */
INLINE int is_echo_of_parent(const struct infold_header* h, struct work* w) {
  if (h->magic != INFOLD_ECHO_MAGIC) return 0;
  const uint32_t* const index = entry(&job_indices, infold_from_be16(h->job));
  if (!index || *index == 0) return 0;
  w->job = *index - 1;
  const struct infold_xdp_job* const job = entry(&jobs, w->job);
  return job && job->has_parent && infold_from_be32(h->epoch) == job->epoch;
}

/* Examines a datagram to us. Returns an XDP action, or -1 with all fields set. */
INLINE int identify(struct xdp_md* ctx, const struct infold_header* h, struct work* w) {
  const uint8_t* const end = (const uint8_t*)(long)ctx->data_end;
  if (!parse(h, end, w)) return drop(w, INFOLD_XDP_DROPPED_MALFORMED);
  const uint32_t* const index = entry(&job_indices, infold_from_be16(h->job));
  if (!index || *index == 0) return drop(w, INFOLD_XDP_DROPPED_FOREIGN_JOB);
  w->job = *index - 1;
  w->counter = *index;
  const struct infold_xdp_job* const job = entry(&jobs, w->job);
  if (!job) return drop(w, INFOLD_XDP_DROPPED_FOREIGN_JOB);
  const int why = check_job(ctx, h, job, w);
  return why == kNoVerdict ? kNoVerdict : drop(w, (uint32_t)why);
}

/* This is not a separate program, because a tail call takes as long as the copy. */
INLINE int send_stored(struct xdp_md* ctx, struct work* w) {
  count(w, INFOLD_XDP_REPLAYED);
  shorten(w);
  w->answer_to = INFOLD_XDP_TO_WORKER;
  w->answer_from = kFromStored;
  return send_answer(ctx, w);
}

/* Answers a packet without the lock, if the packet changes nothing and comes from its worker's
 * known address. A copy's fields change only after its round. Its phase becomes DONE only after the
 * answer is stored. Everything that is read before the round is read again therefore belongs to
 * that round. Other packets go on to a program that takes the lock. */
INLINE int answer_known(struct xdp_md* ctx, struct work* w, struct infold_xdp_copy* copy) {
  if ((int32_t)(w->round - REREAD(copy->round)) < 0) return drop(w, INFOLD_XDP_DROPPED_STALE_ROUND);
  const uint32_t phase = REREAD(copy->phase);
  if (phase != INFOLD_XDP_DONE) note_seen(copy, w);
  if (__sync_fetch_and_or(&copy->round, 0) != w->round)
    return drop(w, INFOLD_XDP_DROPPED_STALE_ROUND);
  if (phase == INFOLD_XDP_DONE) {
    note_answer(copy, w);
    if (w->answer_bytes != 0) return send_stored(ctx, w);
  } else if (phase == INFOLD_XDP_COLLECTING) {
    const struct infold_xdp_job* const job = entry(&jobs, w->job);
    if (job && !job->ended && !all_in(w->seen, job)) return go_on(ctx, kAnswerPending);
  }
  return go_on(ctx, kTakeBare);
}

SEC("xdp") int infold_switch(struct xdp_md* ctx) {
  const uint8_t* const data = (const uint8_t*)(long)ctx->data;
  const uint8_t* const end = (const uint8_t*)(long)ctx->data_end;
  struct work* const w = entry(&works, 0);
  if (!w) return XDP_PASS;
  const int found = find_datagram(data, end, w);
  if (found == kNotOurs) return XDP_PASS;
  w->counter = 0;
  w->is_brief = 0;
  ++w->traffic.received_packets;
  if (found == kBroken) return drop(w, INFOLD_XDP_DROPPED_BROKEN);
  w->traffic.received_bytes += w->bytes;
  const uint32_t at = w->at;
  if (at > kDatagramAt6 || w->bytes > INFOLD_XDP_DATAGRAM_BYTES_MAX) {
    return drop(w, INFOLD_XDP_DROPPED_MALFORMED);
  }
  const struct infold_header* const h = (const struct infold_header*)(data + at);
  if ((const uint8_t*)(h + 1) > end || w->bytes < INFOLD_HEADER_BYTES) {
    return drop(w, INFOLD_XDP_DROPPED_MALFORMED);
  }
  w->kind = kProbe;
  if (is_echo_of_parent(h, w)) {
    w->kind = kEcho;
  } else if (h->magic != INFOLD_PROBE_MAGIC) {
    const int action = identify(ctx, h, w);
    if (action != kNoVerdict) return action;
  }
  if (w->kind != kProbe && !ends_job(w->kind) && !travels_down(w->kind)) {
    struct infold_xdp_slot* const slot = entry(&slots, w->slot);
    if (!slot) return XDP_ABORTED;
    struct infold_xdp_copy* const copy = &slot->copies[w->round & 1];
    w->is_verified = 0;
    if (changes_nothing(copy, w) && is_where_known(ctx, w)) return answer_known(ctx, w, copy);
  }
  uint32_t why;
  if (!checksum_is_right(ctx, w, &why)) return drop(w, why);
  if (w->kind == kProbe) return answer_probe(ctx, w);
  w->is_verified = 1;
  if (!learn(ctx, w)) return drop(w, INFOLD_XDP_DROPPED_WRONG_WAY);
  if (w->kind == kEcho) {
    count(w, INFOLD_XDP_HEARD_ECHO);
    return XDP_PASS;
  }
  w->end_cause = kSaidByPacket;
  w->has_found = 0;
  if (ends_job(w->kind)) return go_on(ctx, kTakeAbort);
  return jump(ctx, program_of(w));
}
