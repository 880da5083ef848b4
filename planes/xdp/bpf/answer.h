/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns a packet into its answer. An answer to the sender goes back in the frame that arrived, with
 * new length, bytes and addresses. An answer to others, or one that does not fit, goes up to the
 * program at the host's ingress (planes/xdp/bpf/ingress.h), with a note that names the receivers.
 */
#pragma once

#include "planes/xdp/bpf/bits.h"
#include "planes/xdp/bpf/checksum.h"
#include "planes/xdp/bpf/maps.h"

/* Swaps source and destination, and writes new lengths and checksums. */
INLINE void readdress_ipv4(uint8_t* data, uint32_t datagram_bytes) {
  uint8_t* const ip = data + kEthernetBytes;
  const uint32_t source = *(uint32_t*)(ip + 12);
  *(uint32_t*)(ip + 12) = *(uint32_t*)(ip + 16);
  *(uint32_t*)(ip + 16) = source;
  *(uint16_t*)(ip + 2) = bpf_htons((uint16_t)(kIpv4Bytes + kUdpBytes + datagram_bytes));
  *(uint32_t*)(ip + 4) = bpf_htonl(kUnfragmented);
  ip[8] = 64;
  write_ipv4_sum(ip);
}

INLINE void readdress_ipv6(uint8_t* data, uint32_t datagram_bytes) {
  uint8_t* const ip = data + kEthernetBytes;
  UNROLL for (uint32_t i = 8; i < 24; i += 8) {
    const uint64_t source = *(uint64_t*)(ip + i);
    *(uint64_t*)(ip + i) = *(uint64_t*)(ip + i + 16);
    *(uint64_t*)(ip + i + 16) = source;
  }
  *(uint16_t*)(ip + 4) = bpf_htons((uint16_t)(kUdpBytes + datagram_bytes));
  ip[7] = 64;
}

INLINE void readdress_ends(uint8_t* data, uint8_t* udp, uint32_t datagram_bytes) {
  const uint32_t mac = *(uint32_t*)data;
  const uint16_t rest = *(uint16_t*)(data + 4);
  __builtin_memcpy(data, data + 6, 6);
  *(uint32_t*)(data + 6) = mac;
  *(uint16_t*)(data + 10) = rest;
  const uint16_t port = *(uint16_t*)udp;
  *(uint16_t*)udp = *(uint16_t*)(udp + 2);
  *(uint16_t*)(udp + 2) = port;
  *(uint16_t*)(udp + 4) = bpf_htons((uint16_t)(kUdpBytes + datagram_bytes));
  *(uint16_t*)(udp + 6) = 0;
}

/* The sum of the pseudo-header, without the datagram. */
INLINE uint64_t pseudo_sum(const uint8_t* ip, int is_ipv4, uint32_t udp_bytes) {
  uint64_t sum = bpf_htonl(kProtocolUdp) + (uint64_t)bpf_htonl(udp_bytes);
  if (is_ipv4) {
    UNROLL for (uint32_t i = 12; i < 20; i += 4) sum += *(const uint32_t*)(ip + i);
  } else {
    UNROLL for (uint32_t i = 8; i < 40; i += 4) sum += *(const uint32_t*)(ip + i);
  }
  return sum;
}

INLINE int readdress(struct xdp_md* ctx, struct work* w) {
  uint8_t* data = (uint8_t*)(long)ctx->data;
  const uint8_t* end = (const uint8_t*)(long)ctx->data_end;
  const int is_ipv4 = w->at == kDatagramAt4;
  if (data + kDatagramAt6 > end) return 0; /* also for IPv4: a datagram has at least 32 bytes */
  uint8_t* const udp = data + (is_ipv4 ? kDatagramAt4 : kDatagramAt6) - kUdpBytes;
  if (udp + kUdpBytes > end) return 0;
  const uint32_t bytes = w->answer_bytes;
  if (is_ipv4) {
    readdress_ipv4(data, bytes);
  } else {
    readdress_ipv6(data, bytes);
  }
  readdress_ends(data, udp, bytes);
  uint64_t sum = pseudo_sum(data + kEthernetBytes, is_ipv4, kUdpBytes + bytes);
  UNROLL for (uint32_t i = 0; i < kUdpBytes; i += 2) sum += *(uint16_t*)(udp + i);
  if (w->answer_sum == 0) w->answer_sum = fold(sum_of_frame(ctx, w->at, bytes));
  sum += w->answer_sum;
  const uint32_t folded = ~fold(sum) & 0xffff;
  data = (uint8_t*)(long)ctx->data;
  end = (const uint8_t*)(long)ctx->data_end;
  const uint32_t at = (is_ipv4 ? kDatagramAt4 : kDatagramAt6) - 2;
  if (data + at + 2 > end) return 0;
  *(uint16_t*)(data + at) = folded ? (uint16_t)folded : 0xffff;
  return 1;
}

INLINE int add_note(struct xdp_md* ctx, const struct work* w, uint32_t in_packet) {
  const struct infold_xdp_job* const job = entry(&jobs, w->job);
  if (!job) return 0;
  if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct infold_xdp_note))) return 0;
  struct infold_xdp_note* const note = (struct infold_xdp_note*)(long)ctx->data_meta;
  if ((uint8_t*)(note + 1) > (uint8_t*)(long)ctx->data) return 0;
  note->magic = INFOLD_XDP_NOTE_MAGIC;
  note->epoch = job->epoch;
  note->job = w->job;
  note->copy = w->copy;
  note->round = w->round;
  note->answer_bytes = (uint16_t)w->answer_bytes;
  note->to = w->answer_to;
  note->worker = w->worker;
  note->in_packet = in_packet;
  return 1;
}

INLINE int write_datagram(struct xdp_md* ctx, const struct work* w) {
  uint32_t bytes = w->answer_bytes;
  const uint32_t at = w->at;
  if (at > kDatagramAt6) return 0;
  if (w->answer_from == kFromSmall) {
    if (bytes > sizeof(w->small)) return 0;
    OPAQUE(bytes); /* otherwise clang merges both comparisons into one of a difference */
    if (bytes < INFOLD_HEADER_BYTES) return 0;
    return bpf_xdp_store_bytes(ctx, at, (void*)w->small, bytes) == 0;
  }
  uint8_t* const from = entry(&stored, w->copy);
  OPAQUE(bytes);
  if (!from || bytes < INFOLD_HEADER_BYTES || bytes > config.stored_bytes_max) return 0;
  return bpf_xdp_store_bytes(ctx, at, from, bytes) == 0;
}

/* Whether the answer may go to this receiver. The parent's answer replaces the stored sum of the
 * same round, which must then not go to the parent any more. */
INLINE int may_go(const struct infold_xdp_copy* copy, uint32_t to) {
  return to != INFOLD_XDP_TO_PARENT || REREAD(copy->phase) == INFOLD_XDP_FORWARDED;
}

/* The answer was copied without the lock. Returns whether it was still the right one. Also stores
 * its sum for the checksum, because summing costs as much as copying, and all repeats have the same
 * bytes. */
INLINE int was_still_stored(const struct work* w) {
  struct infold_xdp_slot* const slot = entry(&slots, w->slot);
  if (!slot) return 0;
  struct infold_xdp_copy* const copy = &slot->copies[w->copy & 1];
  if (__sync_fetch_and_or(&copy->round, 0) != w->round || !may_go(copy, w->answer_to)) return 0;
  if (!w->is_brief) copy->stored_sum = marked_sum(w->answer_sum, w->round);
  return 1;
}

/* A short answer to a shorter query needs a few more bytes. Every frame has room in front of it, so
 * the headers move towards the front. */
INLINE int grow_before(struct xdp_md* ctx, const struct work* w, uint32_t more) {
  uint8_t headers[kDatagramAt6];
  const uint32_t at = w->at == kDatagramAt4 ? kDatagramAt4 : kDatagramAt6;
  if (more > kGrowthBeforeMax || bpf_xdp_load_bytes(ctx, 0, headers, at)) return 0;
  if (bpf_xdp_adjust_head(ctx, -(int)more)) return 0;
  return bpf_xdp_store_bytes(ctx, 0, headers, at) == 0;
}

/* A stored answer to all workers does not grow before its headers. The kernel would keep the old
 * place of the UDP header, and would not let the ingress cut the packet in front of it, as a brief
 * result of 41 to 64 bytes requires. The ingress fills in such an answer instead. */
INLINE int set_length(struct xdp_md* ctx, const struct work* w) {
  const int more = (int)(w->at + w->answer_bytes) - (int)(ctx->data_end - ctx->data);
  if (more == 0) return 1;
  if ((more < 0 || config.grows) && bpf_xdp_adjust_tail(ctx, more) == 0) return 1;
  if (w->answer_from == kFromStored && w->answer_to == INFOLD_XDP_TO_ALL) return 0;
  return more > 0 && grow_before(ctx, w, (uint32_t)more);
}

INLINE int go_up(struct xdp_md* ctx, const struct work* w, uint32_t in_packet) {
  return add_note(ctx, w, in_packet) ? XDP_PASS : drop(w, INFOLD_XDP_DROPPED_UNSENDABLE);
}

INLINE int takes_brief(const struct infold_xdp_job* job, const struct infold_xdp_member* member,
                       uint32_t digest) {
  return job->brief_results && !member->is_aggregator && member->digest == digest;
}

/* Cuts a stored answer that goes only to this worker to its header, if R-067 allows that. */
INLINE void shorten(struct work* w) {
  if (!w->may_be_brief) return;
  const struct infold_xdp_job* const job = entry(&jobs, w->job);
  const struct infold_xdp_member* const member =
      entry(&members, w->job * INFOLD_XDP_MEMBERS + w->worker);
  if (!job || !member || !takes_brief(job, member, w->answer_digest)) return;
  w->is_brief = 1;
  w->answer_bytes = INFOLD_HEADER_BYTES;
  w->answer_sum = 0;
}

INLINE int send_answer(struct xdp_md* ctx, struct work* w) {
  if (w->answer_from != kFromPacket) {
    if (!set_length(ctx, w)) {
      return w->answer_from == kFromStored ? go_up(ctx, w, 0)
                                           : drop(w, INFOLD_XDP_DROPPED_UNSENDABLE);
    }
    if (!write_datagram(ctx, w)) return XDP_ABORTED;
  }
  if (w->answer_to == INFOLD_XDP_TO_WORKER) w->answer_to = INFOLD_XDP_TO_SENDER;
  const int to_sender = w->answer_to == INFOLD_XDP_TO_SENDER;
  if (to_sender && !readdress(ctx, w)) return XDP_ABORTED;
  if (w->answer_from == kFromStored && !was_still_stored(w)) return XDP_DROP;
  if (to_sender) count_sent(w, w->answer_bytes);
  return to_sender && config.bounces ? XDP_TX : go_up(ctx, w, 1);
}

SEC("xdp") int answer_packet(struct xdp_md* ctx) {
  struct work* const w = entry(&works, 0);
  return w ? send_answer(ctx, w) : XDP_ABORTED;
}

INLINE void write_range(struct work* w, uint32_t at, uint32_t first, uint32_t count) {
  struct infold_rank_range* const out = (void*)(w->small + INFOLD_HEADER_BYTES);
  if (at >= INFOLD_PENDING_RANGES_MAX) return;
  out[at].first = infold_to_be16((uint16_t)first);
  out[at].count = infold_to_be16((uint16_t)count);
}

/* R-065 for at most 64 workers whose numbers are their ranks: lists one range after the other. */
INLINE void list_missing_bits(struct work* w, uint64_t missing) {
  for (uint32_t at = 0; at < INFOLD_PENDING_RANGES_MAX; ++at) {
    if (missing == 0) break;
    const uint32_t first = zeros_below(missing);
    const uint64_t after = ~(missing | ((1ULL << first) - 1)); /* the 0 bits after the range */
    const uint32_t end = after == 0 ? 64 : zeros_below(after);
    write_range(w, at, first, end - first);
    w->ranges = at + 1;
    missing &= after == 0 ? 0 : ~0ULL << end;
  }
}

struct missing {
  struct work* w;
};

/* R-065 for up to 256 workers: adds one worker's missing ranks, and joins adjacent ranges. A loop
 * of the kernel calls it, so that the verifier checks it only once. */
static long add_missing(uint32_t worker, const void* context) {
  const struct missing* const missing = context;
  struct work* const w = missing->w;
  if (w->seen[worker >> 6 & 3] >> (worker & 63) & 1) return 0;
  const struct infold_xdp_member* const member =
      entry(&members, w->job * INFOLD_XDP_MEMBERS + worker);
  if (!member) return 1;
  if (w->ranges == 0 || member->first != w->after) {
    if (w->ranges == INFOLD_PENDING_RANGES_MAX) return 1;
    ++w->ranges;
    w->first = member->first;
  }
  w->after = member->first + member->count;
  write_range(w, w->ranges - 1, w->first, w->after - w->first);
  return 0;
}

SEC("xdp") int answer_pending(struct xdp_md* ctx) {
  struct work* const w = entry(&works, 0);
  if (!w) return XDP_ABORTED;
  const struct infold_xdp_job* const job = entry(&jobs, w->job);
  if (!job) return XDP_ABORTED;
  struct infold_header* const h = (struct infold_header*)w->small;
  h->magic = INFOLD_MAGIC;
  h->version_kind = INFOLD_VERSION << 4 | INFOLD_KIND_PENDING;
  h->flags = 0;
  h->worker = w->worker;
  h->job = infold_to_be16(job->number);
  h->slot = infold_to_be16((uint16_t)(w->slot - job->slot_first));
  h->epoch = infold_to_be32(job->epoch);
  h->round = infold_to_be32(w->round);
  *(uint64_t*)&h->elements = w->signature;
  *(uint64_t*)&h->contributors = 0;
  w->ranges = 0;
  struct missing missing = {w};
  if (job->is_plain && job->workers <= 64) {
    list_missing_bits(w, job->expected[0] & ~w->seen[0]);
  } else {
    kernel_loop(job->workers, add_missing, &missing);
  }
  w->answer_bytes = INFOLD_HEADER_BYTES + 4 * w->ranges;
  w->answer_from = kFromSmall;
  w->answer_sum = 0;
  w->answer_to = INFOLD_XDP_TO_WORKER;
  count(w, INFOLD_XDP_ANSWERED_PENDING);
  return send_answer(ctx, w);
}
