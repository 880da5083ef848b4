/* SPDX-License-Identifier: Apache-2.0
 *
 * Loaded only for measurements: the least that a packet program can do, for comparison with the
 * aggregator.
 */
#pragma once

#include "planes/xdp/bpf/maps.h"

INLINE void swap_words(uint32_t* a, uint32_t* b) {
  const uint32_t was = *a;
  *a = *b;
  *b = was;
}

/* Whether the frame is for our port over IPv4. */
INLINE int is_for_us(const uint8_t* data, const uint8_t* end) {
  const uint8_t* const ip = data + kEthernetBytes;
  const uint8_t* const udp = ip + kIpv4Bytes;
  return udp + kUdpBytes <= end && *(const uint16_t*)(data + 12) == bpf_htons(0x0800) &&
         ip[9] == kProtocolUdp && *(const uint16_t*)(udp + 2) == config.port.wire;
}

SEC("xdp") int discard(struct xdp_md* ctx) {
  return is_for_us((const uint8_t*)(long)ctx->data, (const uint8_t*)(long)ctx->data_end) ? XDP_DROP
                                                                                         : XDP_PASS;
}

/* Sends packets for our port over IPv4 back unchanged, so that both checksums stay correct. It does
 * not use XDP_TX, because veth would then not wake a receiver without a packet program. */
SEC("xdp") int bounce(struct xdp_md* ctx) {
  uint8_t* const data = (uint8_t*)(long)ctx->data;
  uint8_t* const ip = data + kEthernetBytes;
  uint8_t* const udp = ip + kIpv4Bytes;
  if (!is_for_us(data, (const uint8_t*)(long)ctx->data_end)) return XDP_PASS;
  swap_words((uint32_t*)(ip + 12), (uint32_t*)(ip + 16));
  const uint32_t ports = *(const uint32_t*)udp;
  *(uint32_t*)udp = ports << 16 | ports >> 16;
  swap_words((uint32_t*)data, (uint32_t*)(data + 6));
  const uint16_t rest = *(const uint16_t*)(data + 4);
  *(uint16_t*)(data + 4) = *(const uint16_t*)(data + 10);
  *(uint16_t*)(data + 10) = rest;
  return (int)bpf_redirect(ctx->ingress_ifindex, 0);
}
