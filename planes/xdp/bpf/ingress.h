/* SPDX-License-Identifier: Apache-2.0
 *
 * The program at the host's ingress, which follows the packet program on the same interface. Unlike
 * a frame in a driver, a packet can grow here and can be sent more than once. The program takes
 * only packets with a note. A note precedes the packet in the host's memory, so none can arrive
 * over a wire.
 */
#pragma once

#include <linux/pkt_cls.h>

#include "planes/xdp/bpf/answer.h"
#include "planes/xdp/bpf/asking.h"

/* The values that are equal for all copies that go out. */
struct sending {
  struct __sk_buff* skb;
  uint32_t first_member; /* the job's first entry in `members` */
  uint32_t at;
  uint32_t bytes;
  uint32_t sum; /* the sum of the datagram, for the checksum */
  uint32_t to;
  uint32_t slot;
  uint32_t job;
  uint32_t may_be_brief; /* whether a worker may get only the header */
  uint32_t digest;       /* the digest of the contributors, in that case */
  uint32_t brief;        /* the worker that gets only the header; INFOLD_XDP_MEMBERS: none */
};

/* Reads the note and erases it, because veth passes on the bytes before a packet. Its other end may
 * be another switch on this machine, and receivers there would not coalesce packets with different
 * notes. */
INLINE int read_note(const struct __sk_buff* skb, struct infold_xdp_note* note) {
  struct infold_xdp_note* const found = (void*)(long)skb->data_meta;
  if ((const uint8_t*)(found + 1) > (const uint8_t*)(long)skb->data) return 0;
  if (found->magic != INFOLD_XDP_NOTE_MAGIC) return 0;
  *note = *found;
  const struct infold_xdp_note none = {0};
  *found = none;
  return 1;
}

/* Replaces the packet by the stored answer. Returns whether the answer was still stored. */
INLINE int fill(struct __sk_buff* skb, const struct infold_xdp_note* note, uint32_t at) {
  struct infold_xdp_slot* const slot = entry(&slots, note->copy >> 1);
  const uint8_t* const from = entry(&stored, note->copy);
  uint32_t bytes = note->answer_bytes;
  if (!slot || !from) return 0;
  OPAQUE(bytes);
  if (bytes < INFOLD_HEADER_BYTES || bytes > config.stored_bytes_max) return 0;
  if (bpf_skb_store_bytes(skb, at, from, bytes, BPF_F_INVALIDATE_HASH)) return 0;
  struct infold_xdp_copy* const copy = &slot->copies[note->copy & 1];
  return __sync_fetch_and_or(&copy->round, 0) == note->round && may_go(copy, note->to);
}

INLINE void write_ipv4(uint8_t* ip, const struct infold_xdp_member* to, uint32_t udp_bytes) {
  *(uint16_t*)(ip + 2) = bpf_htons((uint16_t)(kIpv4Bytes + udp_bytes));
  *(uint32_t*)(ip + 4) = bpf_htonl(kUnfragmented);
  ip[8] = 64;
  *(uint32_t*)(ip + 12) = (uint32_t)(to->own_address.word[1] >> 32);
  *(uint32_t*)(ip + 16) = (uint32_t)(to->address.word[1] >> 32);
  write_ipv4_sum(ip);
}

INLINE void write_ipv6(uint8_t* ip, const struct infold_xdp_member* to, uint32_t udp_bytes) {
  *(uint16_t*)(ip + 4) = bpf_htons((uint16_t)udp_bytes);
  ip[7] = 64;
  UNROLL for (uint32_t i = 0; i < 2; ++i) {
    *(uint64_t*)(ip + 8 + 8 * i) = to->own_address.word[i];
    *(uint64_t*)(ip + 24 + 8 * i) = to->address.word[i];
  }
}

/* Writes all headers for one receiver. */
INLINE int address_to(const struct sending* what, const struct infold_xdp_member* to) {
  uint8_t* const data = (uint8_t*)(long)what->skb->data;
  const uint8_t* const end = (const uint8_t*)(long)what->skb->data_end;
  if (data + kDatagramAt6 > end) return 0; /* also for IPv4: a datagram has at least 32 bytes */
  const int is_ipv4 = what->at == kDatagramAt4;
  uint8_t* const ip = data + kEthernetBytes;
  uint8_t* const udp = data + (is_ipv4 ? kDatagramAt4 : kDatagramAt6) - kUdpBytes;
  const uint32_t udp_bytes = kUdpBytes + what->bytes;
  __builtin_memcpy(data, to->mac, sizeof(to->mac));
  __builtin_memcpy(data + 6, to->own_mac, sizeof(to->own_mac));
  if (is_ipv4) {
    write_ipv4(ip, to, udp_bytes);
  } else {
    write_ipv6(ip, to, udp_bytes);
  }
  *(uint16_t*)udp = config.port.wire;
  *(uint16_t*)(udp + 2) = to->port.wire;
  *(uint16_t*)(udp + 4) = bpf_htons((uint16_t)udp_bytes);
  *(uint16_t*)(udp + 6) = 0;
  uint64_t sum = pseudo_sum(ip, is_ipv4, udp_bytes) + what->sum;
  UNROLL for (uint32_t i = 0; i < kUdpBytes; i += 2) sum += *(uint16_t*)(udp + i);
  const uint32_t folded = ~fold(sum) & 0xffff;
  *(uint16_t*)(udp + 6) = folded ? (uint16_t)folded : 0xffff;
  return 1;
}

/* Returns this receiver's interface, or 0 if its address is unknown because none of its packets has
 * arrived. */
INLINE uint32_t address_member(const struct sending* what, uint32_t number) {
  const struct infold_xdp_member* const to = entry(&members, what->first_member + number);
  if (!to || to->ifindex == 0) return 0;
  const int is_ipv4 = to->address.word[0] == 0 && (uint32_t)to->address.word[1] == 0xffff0000;
  if (is_ipv4 != (what->at == kDatagramAt4)) return 0;
  return address_to(what, to) ? to->ifindex : 0;
}

INLINE void count_copy(const struct sending* what) {
  struct work* const w = entry(&works, 0);
  if (w) count_sent(w, what->bytes);
}

/* Counts an answer that the kernel does not let out, for its job. */
INLINE void count_unsendable(uint32_t job) {
  struct infold_xdp_counters* const all = entry(&counters, job + 1);
  if (all) ++all->count[INFOLD_XDP_DROPPED_UNSENDABLE];
}

INLINE uint32_t datagram_at(const struct __sk_buff* skb) {
  return skb->protocol == bpf_htons(0x0800) ? kDatagramAt4 : kDatagramAt6;
}

INLINE uint32_t sum_datagram(struct __sk_buff* skb, uint32_t at, uint32_t bytes) {
  return fold(sum_of_packet(skb, at, bytes));
}

INLINE void note_contributors(struct sending* what, const struct infold_xdp_job* job) {
  struct infold_header h;
  if (!job->brief_results || what->at > kDatagramAt6) return;
  if (bpf_skb_load_bytes(what->skb, what->at, &h, sizeof(h))) return;
  if ((h.version_kind & 15) != INFOLD_KIND_RESULT) return;
  what->may_be_brief = (uint32_t)may_be_brief(
      *(const uint64_t*)&h.elements, infold_from_be16(h.contributors), infold_from_be16(h.weight));
  what->digest = infold_from_be32(h.contributor_digest);
}

INLINE int is_brief_for(const struct sending* what, uint32_t number) {
  if (!what->may_be_brief) return 0;
  const struct infold_xdp_job* const job = entry(&jobs, what->job);
  const struct infold_xdp_member* const to = entry(&members, what->first_member + number);
  return job && to && takes_brief(job, to, what->digest);
}

static long find_brief(uint32_t number, const void* context) {
  struct work* const w = entry(&works, 0);
  if (!w || !is_brief_for(context, number)) return 0;
  w->brief = number;
  return 1;
}

/* Finds the worker that gets only the header of a packet to all workers. */
INLINE void find_receiver_of_brief(struct sending* what, const struct infold_xdp_job* job) {
  struct work* const w = entry(&works, 0);
  note_contributors(what, job);
  if (!w || !what->may_be_brief) return;
  w->brief = INFOLD_XDP_MEMBERS;
  kernel_loop(job->workers, find_brief, what);
  what->brief = w->brief;
}

/* Cuts the packet after its header. Returns whether it worked. If not, the packet is whole. */
INLINE int leave_out_elements(struct sending* what) {
  if (bpf_skb_change_tail(what->skb, what->at + INFOLD_HEADER_BYTES, 0)) return 0;
  what->bytes = INFOLD_HEADER_BYTES;
  what->sum = sum_datagram(what->skb, what->at, INFOLD_HEADER_BYTES);
  return 1;
}

/* Sends one receiver's copy. */
static long send_to(uint32_t number, const void* context) {
  const struct sending* const what = context;
  if (number == what->brief) return 0;
  const uint32_t interface = address_member(what, number);
  if (interface == 0) return 0;
  const long refused = bpf_clone_redirect(what->skb, interface, 0);
  if (refused == 0) count_copy(what);
  /* Above 0, a queue on the way was full, so that the copy is lost as in any network. */
  if (refused < 0) count_unsendable(what->job);
  return 0;
}

/* Returns whether this worker is among the asking workers, and removes it from them. */
INLINE int was_asking(const struct sending* what, uint32_t worker) {
  if (what->to == INFOLD_XDP_TO_ASKING_FOR_END) {
    struct infold_xdp_job* const job = entry(&jobs, what->job);
    return job && take_asking(job->asking, worker);
  }
  struct infold_xdp_slot* const slot = entry(&slots, what->slot);
  return slot && take_asking(slot->asking, worker);
}

static long send_to_asking(uint32_t number, const void* context) {
  return was_asking(context, number) ? send_to(number, context) : 0;
}

INLINE int is_for_asking(uint32_t to) {
  return (to & (INFOLD_XDP_TO_ASKING | INFOLD_XDP_TO_ASKING_FOR_END)) != 0;
}

/* Sends the packet itself to the last receiver, which therefore needs no copy. */
INLINE int send_last(const struct sending* what, uint32_t number) {
  const uint32_t interface = address_member(what, number);
  if (interface == 0) return TC_ACT_SHOT;
  count_copy(what);
  return (int)bpf_redirect(interface, 0);
}

/* Sends the header to its receiver, after all others have got their copies. A whole result is right
 * as well. */
INLINE int send_brief(struct sending* what) {
  leave_out_elements(what);
  return send_last(what, what->brief);
}

/* Gives the packet the answer's length and bytes. Returns the sum of the datagram, or 0 if the
 * answer is no longer stored. */
INLINE uint32_t prepare(struct __sk_buff* skb, const struct infold_xdp_note* note) {
  const uint32_t at = datagram_at(skb);
  const uint32_t bytes = note->answer_bytes;
  /* A packet that grew before its headers, here or at the switch below, keeps the old place of its
   * UDP header, and the kernel cuts nothing in front of that. So the right length stays as it is.
   */
  if (skb->len != at + bytes && bpf_skb_change_tail(skb, at + bytes, 0)) {
    count_unsendable(note->job);
    return 0;
  }
  if (!note->in_packet && !fill(skb, note, at)) return 0;
  if (bpf_skb_pull_data(skb, at + bytes)) return 0;
  return sum_datagram(skb, at, bytes);
}

/* Marks the checksum as verified, because it was computed here. A receiver in this machine need not
 * verify it again. A wire does not carry the mark. */
INLINE void say_it_is_summed(struct __sk_buff* skb) { bpf_csum_level(skb, BPF_CSUM_LEVEL_INC); }

/* The end of a job goes to workers as ABORTED and to the parent as ABORT. */
INLINE void turn_to_parent(struct sending* what, const struct infold_xdp_job* job) {
  uint8_t start[4];
  if (bpf_skb_load_bytes(what->skb, what->at, start, sizeof(start))) return;
  if ((start[1] & 15) != INFOLD_KIND_ABORTED) return;
  start[1] = INFOLD_VERSION << 4 | INFOLD_KIND_ABORT;
  start[2] = 0;
  start[3] = job->parent_worker;
  if (bpf_skb_store_bytes(what->skb, what->at, start, sizeof(start), 0)) return;
  if (bpf_skb_pull_data(what->skb, what->at + what->bytes)) return;
  what->sum = sum_datagram(what->skb, what->at, what->bytes);
}

/* Other packets go on to the next program at the host's ingress. */
SEC("tc") int send_noted(struct __sk_buff* skb) {
  struct infold_xdp_note note;
  if (!read_note(skb, &note)) return TC_ACT_UNSPEC;
  if (note.to == INFOLD_XDP_TO_SENDER) {
    say_it_is_summed(skb);
    return (int)bpf_redirect(skb->ifindex, 0);
  }
  const struct infold_xdp_job* const job = entry(&jobs, note.job);
  if (!job || job->epoch != note.epoch) return TC_ACT_SHOT;
  struct sending what = {skb,
                         note.job * INFOLD_XDP_MEMBERS,
                         datagram_at(skb),
                         note.answer_bytes,
                         prepare(skb, &note),
                         note.to,
                         note.copy >> 1,
                         note.job,
                         0,
                         0,
                         INFOLD_XDP_MEMBERS};
  if (what.sum == 0) return TC_ACT_SHOT;
  say_it_is_summed(skb);
  if (is_for_asking(note.to)) {
    kernel_loop(job->workers, send_to_asking, &what);
    return TC_ACT_SHOT;
  }
  const int to_parent = note.to & INFOLD_XDP_TO_PARENT;
  uint32_t last = note.worker;
  if (note.to & INFOLD_XDP_TO_ALL) {
    last = job->workers - 1;
    find_receiver_of_brief(&what, job);
    const int is_brief = what.brief < INFOLD_XDP_MEMBERS;
    kernel_loop(to_parent || is_brief ? job->workers : last, send_to, &what);
    if (is_brief) return send_brief(&what);
  }
  if (!to_parent) return send_last(&what, last);
  if (note.to & INFOLD_XDP_TO_WORKER) send_to(note.worker, &what);
  turn_to_parent(&what, job);
  return send_last(&what, INFOLD_XDP_PARENT);
}

/* Loaded only for tests. The kernel's test-run cannot give a packet a note, so the note comes in
 * the context of the test-run. The packet is addressed to one member and not sent. */
SEC("tc") int fill_noted(struct __sk_buff* skb) {
  struct infold_xdp_note note = {0};
  note.copy = skb->cb[0];
  note.round = skb->cb[1];
  note.answer_bytes = (uint16_t)skb->cb[2];
  note.in_packet = skb->cb[4] & 1;
  note.to = (uint8_t)(skb->cb[4] >> 8);
  note.job = skb->cb[3] / INFOLD_XDP_MEMBERS;
  const uint32_t member = skb->cb[3] % INFOLD_XDP_MEMBERS;
  struct sending what = {skb,
                         note.job * INFOLD_XDP_MEMBERS,
                         datagram_at(skb),
                         note.answer_bytes,
                         prepare(skb, &note),
                         note.to,
                         note.copy >> 1,
                         note.job,
                         0,
                         0,
                         INFOLD_XDP_MEMBERS};
  const struct infold_xdp_job* const job = entry(&jobs, note.job);
  const struct infold_xdp_member* const to = entry(&members, skb->cb[3]);
  if (what.sum == 0 || !job || !to) return TC_ACT_SHOT;
  if (is_for_asking(note.to) && !was_asking(&what, member)) return TC_ACT_SHOT;
  note_contributors(&what, job);
  if (is_brief_for(&what, member) && !leave_out_elements(&what)) return TC_ACT_SHOT;
  if (member == INFOLD_XDP_PARENT) turn_to_parent(&what, job);
  return address_to(&what, to) ? TC_ACT_OK : TC_ACT_SHOT;
}
