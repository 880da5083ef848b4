// SPDX-License-Identifier: Apache-2.0
//
// Drops packets at random where a lab's link delivers them. tools/lab/links.py compiles this file
// with the probability, and network.py attaches the program at the ingress of both ends. There the
// packets are those of the wire, while at the egress many may still be one super-packet of 64 KiB.
// The statistics of the qdisc count packets and drops, so the program does not need a map.

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
