// SPDX-License-Identifier: Apache-2.0
//
// Says which packets a lab's programs leave alone: those with which hosts find neighbours. A lab
// does not measure that, and one lost request stalls a host for a second.

#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <asm/byteorder.h>

// Whether the packet is ARP, or one of the five ICMPv6 messages that replace it.
static inline int finds_neighbours(const struct __sk_buff* packet) {
  if (packet->protocol == __cpu_to_be16(ETH_P_ARP)) return 1;
  if (packet->protocol != __cpu_to_be16(ETH_P_IPV6)) return 0;
  const __u8* const start = (const __u8*)(unsigned long)packet->data;
  const __u8* const end = (const __u8*)(unsigned long)packet->data_end;
  enum { kNextHeader = ETH_HLEN + 6, kType = ETH_HLEN + 40, kIcmp = 58 };
  if (start + kType + 1 > end || start[kNextHeader] != kIcmp) return 0;
  return start[kType] >= 133 && start[kType] <= 137;
}
