/* SPDX-License-Identifier: Apache-2.0
 *
 * The addresses of workers and of the parent. A worker's packets come from one host. Answers go to
 * the port of its last valid packet, so a worker may be behind a NAT (as in
 * src/site/aggregation_site.cc). The host first sends a probe to the parent, using the kernel's
 * routes and neighbours, and the parent's echo shows the next hop.
 */
#pragma once

#include "planes/xdp/bpf/parse.h"

/* The source of a packet, and the address of ours that it was sent to. */
INLINE int read_addresses(struct xdp_md* ctx, const struct work* w,
                          struct infold_xdp_member* from) {
  const uint8_t* const data = (const uint8_t*)(long)ctx->data;
  const uint8_t* const end = (const uint8_t*)(long)ctx->data_end;
  const uint8_t* udp;
  if (data + kDatagramAt4 > end) return 0;
  if (w->at == kDatagramAt4) {
    from->address.word[0] = 0;
    from->address.word[1] = (uint64_t)*(const uint32_t*)(data + 26) << 32 | 0xffff0000;
    from->own_address.word[0] = 0;
    from->own_address.word[1] = (uint64_t)*(const uint32_t*)(data + 30) << 32 | 0xffff0000;
    udp = data + kEthernetBytes + kIpv4Bytes;
  } else {
    if (data + kDatagramAt6 > end) return 0;
    from->address.word[0] = *(const uint64_t*)(data + 22);
    from->address.word[1] = *(const uint64_t*)(data + 30);
    from->own_address.word[0] = *(const uint64_t*)(data + 38);
    from->own_address.word[1] = *(const uint64_t*)(data + 46);
    udp = data + kEthernetBytes + kIpv6Bytes;
  }
  from->port.wire = *(const uint16_t*)udp;
  __builtin_memcpy(from->own_mac, data, 6);
  __builtin_memcpy(from->mac, data + 6, 6);
  from->ifindex = ctx->ingress_ifindex;
  return 1;
}

/* whether the packet comes from its worker's host. */
INLINE int is_from_source(struct xdp_md* ctx, const struct work* w) {
  const uint8_t* const data = (const uint8_t*)(long)ctx->data;
  const uint8_t* const end = (const uint8_t*)(long)ctx->data_end;
  const struct infold_xdp_member* const member =
      entry(&members, w->job * INFOLD_XDP_MEMBERS + w->worker);
  if (!member || data + kDatagramAt4 > end) return 0;
  const struct infold_xdp_address source = member->source;
  if ((source.word[0] | source.word[1]) == 0) return 1;
  if (w->at == kDatagramAt4)
    return source.word[0] == 0 && source.word[1] == mapped_ipv4(*(const uint32_t*)(data + 26));
  if (data + kDatagramAt6 > end) return 0;
  return source.word[0] == *(const uint64_t*)(data + 22) &&
         source.word[1] == *(const uint64_t*)(data + 30);
}

/* Keeps the source of such a packet, so that the host can log it. If two processors write at once,
 * the address may be a mixture. */
INLINE void note_wrong_source(struct xdp_md* ctx, const struct infold_xdp_job* job,
                              const struct work* w) {
  struct infold_xdp_member from;
  struct infold_xdp_wrong_source* const note = entry(&wrong_sources, 0);
  if (!note || !read_addresses(ctx, w, &from)) return;
  note->address = from.address;
  note->job = job->number;
  note->worker = w->worker;
}

INLINE struct infold_xdp_member* member_of(const struct work* w) {
  const uint32_t number = travels_down(w->kind) ? INFOLD_XDP_PARENT : w->worker;
  return entry(&members, w->job * INFOLD_XDP_MEMBERS + number);
}

INLINE int same_place(const struct infold_xdp_member* a, const struct infold_xdp_member* b) {
  return a->address.word[1] == b->address.word[1] && a->address.word[0] == b->address.word[0] &&
         a->own_address.word[1] == b->own_address.word[1] &&
         a->own_address.word[0] == b->own_address.word[0] && a->port.wire == b->port.wire &&
         a->ifindex == b->ifindex && *(const uint32_t*)a->mac == *(const uint32_t*)b->mac &&
         *(const uint64_t*)(a->mac + 4) == *(const uint64_t*)(b->mac + 4);
}

INLINE int is_where_known(struct xdp_md* ctx, const struct work* w) {
  struct infold_xdp_member here;
  const struct infold_xdp_member* const member = member_of(w);
  return member && read_addresses(ctx, w, &here) && same_place(&here, member);
}

INLINE int is_same_port(const struct infold_xdp_member* a, const struct infold_xdp_member* b) {
  return a->port.wire == b->port.wire && a->address.word[1] == b->address.word[1] &&
         a->address.word[0] == b->address.word[0];
}

/* whether a packet for workers comes from the parent. Any source will do while the parent's
 * address is unknown. */
INLINE int is_from_parent(struct xdp_md* ctx, const struct work* w) {
  struct infold_xdp_member here;
  const struct infold_xdp_member* const parent = member_of(w);
  if (!parent || !read_addresses(ctx, w, &here)) return 0;
  return parent->port.wire == 0 || is_same_port(&here, parent);
}

/* If two processors learn different addresses at once, a mixture stays until the worker's next
 * packet. That costs one answer, like a packet lost on the wire. Returns whether to accept the
 * packet. */
INLINE int learn(struct xdp_md* ctx, const struct work* w) {
  struct infold_xdp_member here;
  struct infold_xdp_member* const member = member_of(w);
  if (!member || !read_addresses(ctx, w, &here) || same_place(&here, member)) return 1;
  if (travels_down(w->kind) && member->port.wire != 0 && !is_same_port(&here, member)) return 0;
  member->address = here.address;
  member->own_address = here.own_address;
  member->port = here.port;
  __builtin_memcpy(member->mac, here.mac, sizeof(here.mac));
  __builtin_memcpy(member->own_mac, here.own_mac, sizeof(here.own_mac));
  member->ifindex = here.ifindex;
  return 1;
}
