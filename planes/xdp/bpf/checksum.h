/* SPDX-License-Identifier: Apache-2.0
 *
 * The checksums of IP and UDP: sums of 16-bit words with the carries added back (RFC 1071). A sum
 * has 64 bits, which hold the carries of a whole packet, and is folded once.
 */
#pragma once

#include "planes/xdp/bpf/consts.h"

INLINE uint32_t fold(uint64_t sum) {
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return (uint32_t)sum;
}

/* Writes the checksum of an IPv4 header without options, whose other fields must be set. */
INLINE void write_ipv4_sum(uint8_t* ip) {
  *(uint16_t*)(ip + 10) = 0;
  uint64_t sum = 0;
  UNROLL for (uint32_t i = 0; i < kIpv4Bytes; i += 4) sum += *(uint32_t*)(ip + i);
  *(uint16_t*)(ip + 10) = (uint16_t)~fold(sum);
}

/* The sum of a stored answer is valid only for its round, and a processor may write it late. The
 * stored value therefore contains the round's last bits. */
INLINE uint32_t marked_sum(uint32_t sum, uint32_t round) { return sum | round << 16; }

/* The sum of `bytes` bytes from `p`, or of fewer if the packet ends before. */
INLINE uint64_t sum_of_bytes(const uint8_t* p, const uint8_t* end, uint32_t bytes) {
  uint64_t sum = 0;
  uint64_t odd = 0; /* a second sum, so additions do not wait for each other */
  uint32_t left = bytes;
  for (uint32_t step = 0; step <= kStepsMax; ++step) {
    if (left < kStepBytes || p + kStepBytes > end) break;
    UNROLL for (uint32_t i = 0; i < kStepBytes; i += 8) {
      sum += *(const uint32_t*)(p + i);
      odd += *(const uint32_t*)(p + i + 4);
    }
    p += kStepBytes;
    left -= kStepBytes;
  }
  sum += odd;
  for (uint32_t step = 0; step < kStepBytes / 4; ++step) {
    if (left < 4 || p + 4 > end) break;
    sum += *(const uint32_t*)p;
    p += 4;
    left -= 4;
  }
  if (left >= 2 && p + 2 <= end) {
    sum += *(const uint16_t*)p;
    p += 2;
    left -= 2;
  }
  if (left == 1 && p + 1 <= end) sum += *p;
  return sum;
}

/* The same for part of a frame that begins at an even offset. */
GLOBAL uint64_t sum_of_frame(struct xdp_md* ctx, uint32_t at, uint32_t bytes) {
  if (at > kDatagramAt6) return 0;
  return sum_of_bytes((const uint8_t*)(long)ctx->data + at, (const uint8_t*)(long)ctx->data_end,
                      bytes);
}

/* The same for a packet at the host's ingress. */
GLOBAL uint64_t sum_of_packet(struct __sk_buff* skb, uint32_t at, uint32_t bytes) {
  if (at > kDatagramAt6) return 0;
  return sum_of_bytes((const uint8_t*)(long)skb->data + at, (const uint8_t*)(long)skb->data_end,
                      bytes);
}
