// SPDX-License-Identifier: Apache-2.0
//
// Drops packets at random where a lab's link delivers them. tools/lab/links.py compiles this with
// the probability, and attaches it at the ingress of both ends. There the packets are those of the
// wire. At the egress they may still be one super-packet of 64 KiB. The kernel counts packets and
// drops in the statistics of the qdisc, so there is no map.

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "tools/lab/neighbours.bpf.h"

#ifndef LOSS_IN_2_POW_32
#error "define LOSS_IN_2_POW_32: the probability to lose a packet, times 2^32"
#endif

// The only kernel function that the program needs, by its number. The number is part of the
// kernel's interface.
static __u32 (*const bpf_get_prandom_u32)(void) = (void*)BPF_FUNC_get_prandom_u32;

__attribute__((section("classifier"), used)) int lose(struct __sk_buff* packet) {
  if (finds_neighbours(packet)) return TC_ACT_OK;
  return bpf_get_prandom_u32() < LOSS_IN_2_POW_32 ? TC_ACT_SHOT : TC_ACT_OK;
}
