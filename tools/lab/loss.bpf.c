// SPDX-License-Identifier: Apache-2.0
//
// Drops packets at random where a lab's link delivers them. tools/lab/links.py compiles this with
// the probability, and attaches it at the ingress of both ends. There the packets are those of the
// wire. At the egress they may still be one super-packet of 64 KiB. The kernel counts packets and
// drops in the statistics of the qdisc, so there is no map.

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include <asm/byteorder.h>

#ifndef LOSS_IN_2_POW_32
#error "define LOSS_IN_2_POW_32: the probability to lose a packet, times 2^32"
#endif

// The only kernel function that the program needs, by its number. The number is part of the
// kernel's interface.
static __u32 (*const bpf_get_prandom_u32)(void) = (void*)BPF_FUNC_get_prandom_u32;

// A lab does not measure how hosts find neighbours, and one lost request stalls a host for a
// second. So these are never dropped: ARP, and the five ICMPv6 messages that replace it.
static inline int finds_neighbours(const struct __sk_buff* packet) {
  if (packet->protocol == __cpu_to_be16(ETH_P_ARP)) return 1;
  if (packet->protocol != __cpu_to_be16(ETH_P_IPV6)) return 0;
  const __u8* const start = (const __u8*)(unsigned long)packet->data;
  const __u8* const end = (const __u8*)(unsigned long)packet->data_end;
  enum { kNextHeader = ETH_HLEN + 6, kType = ETH_HLEN + 40, kIcmp = 58 };
  if (start + kType + 1 > end || start[kNextHeader] != kIcmp) return 0;
  return start[kType] >= 133 && start[kType] <= 137;
}

__attribute__((section("classifier"), used)) int lose(struct __sk_buff* packet) {
  if (finds_neighbours(packet)) return TC_ACT_OK;
  return bpf_get_prandom_u32() < LOSS_IN_2_POW_32 ? TC_ACT_SHOT : TC_ACT_OK;
}
