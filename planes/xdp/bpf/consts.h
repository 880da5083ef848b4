/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for the bytes before a datagram, and macros that keep clang from making code that the
 * verifier refuses.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "planes/xdp/bpf/state.h"

enum {
  kEthernetBytes = 14,
  kIpv4Bytes = 20,
  kIpv6Bytes = 40,
  kUdpBytes = 8,
  kProtocolUdp = 17,
  /* The identification and flags of an IPv4 packet that must not be fragmented. Receivers coalesce
   * packets only if their identifications are equal or count up, and the packets that arrived have
   * neither. */
  kUnfragmented = 0x4000,
  /* PENDING and ABORTED are at most 32 bytes longer than the shortest packet. */
  kGrowthBeforeMax = 64,
  /* The offset of a datagram in the frame, over IPv4 and over IPv6. */
  kDatagramAt4 = kEthernetBytes + kIpv4Bytes + kUdpBytes,
  kDatagramAt6 = kEthernetBytes + kIpv6Bytes + kUdpBytes,
  /* Programs handle this many bytes of a packet's elements in one step. */
  kStepBytes = 64,
  kStepsMax = INFOLD_XDP_DATAGRAM_BYTES_MAX / kStepBytes
};

/* Hides a value from clang, which would know more of it than the verifier. */
#define OPAQUE(variable) asm volatile("" : "+r"(variable))
/* Loads a value again, so that clang and the verifier forget the bounds that a loop gave it. */
#define REREAD(place) (*(const volatile __typeof__(place)*)&(place))
/* Keeps shift counts out of r4. On x86, r4 is rcx, and the kernel's compiler then uses the old
 * shift by cl of three operations. For any other register it uses the new shift of one. */
#define SHIFT_COUNTS_NOT_IN_R4() asm volatile("" ::: "r4")
#define INLINE static inline __attribute__((always_inline))
/* A function that the verifier follows once for each program, and not once for each path to it. In
 * return, the verifier does not know the arguments' values. */
#define GLOBAL __attribute__((noinline))
#define UNROLL _Pragma("clang loop unroll(full)")

/* base + offset, computed in the offset's register. If the base stays in use, clang would first
 * copy the base and then add the offset. */
INLINE uint8_t* at_offset(const volatile void* base, uint64_t offset) {
  asm volatile("%0 += %1" : "+r"(offset) : "r"(base));
  return (uint8_t*)offset;
}

/* The kernel's loop calls this for each number. It returns 1 to end the loop. */
typedef long (*loop_body)(uint32_t number, const void* context);

/* The kernel's loop, whose body the verifier follows once. The body must not change its context on
 * the stack, because Linux 6.1 assumes that the context keeps its values from before the loop. It
 * removes code that would be unreachable with these values. Results of a loop go into a map. */
INLINE void kernel_loop(uint32_t times, loop_body body, const void* context) {
  bpf_loop(times, body, (void*)context, 0);
}

/* Packets are not aligned. If the types said so, clang would load byte by byte. They do not say so,
 * because the processors that run this can load unaligned words. The build turns off strict
 * aliasing. */
