/* SPDX-License-Identifier: Apache-2.0
 *
 * Names for the bytes before a datagram, and the few macros without which clang and the verifier
 * do not understand each other.
 */
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bpf/state.h"

enum {
  kEthernetBytes = 14,
  kIpv4Bytes = 20,
  kIpv6Bytes = 40,
  kUdpBytes = 8,
  kProtocolUdp = 17,
  /* Number and flags of an IPv4 packet that nobody may cut. Receivers couple packets into trains
   * only if their numbers are all alike or count up; those of what came would do neither. */
  kUnfragmented = 0x4000,
  /* PENDING and ABORTED outgrow the shortest packet by 32 bytes at most. */
  kGrowthBeforeMax = 64,
  /* Where a datagram starts in the frame, over IPv4 and over IPv6. */
  kDatagramAt4 = kEthernetBytes + kIpv4Bytes + kUdpBytes,
  kDatagramAt6 = kEthernetBytes + kIpv6Bytes + kUdpBytes,
  /* Elements are worked on in steps of this many bytes of the packet. */
  kStepBytes = 64,
  kStepsMax = INFOLD_XDP_DATAGRAM_BYTES_MAX / kStepBytes
};

/* Keeps clang from knowing a value better than the verifier will. */
#define OPAQUE(variable) asm volatile("" : "+r"(variable))
/* Loads a value again, so that neither of them knows what a loop has shown of it. */
#define REREAD(place) (*(const volatile __typeof__(place)*)&(place))
/* Keeps counts of shifts out of r4. On x86 that is rcx, and the kernel's compiler then takes the
 * old shift by cl, three operations long, in place of the new one that takes any other register. */
#define SHIFT_COUNTS_NOT_IN_R4() asm volatile("" ::: "r4")
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")

/* What the kernel's loop runs for each number; returns 1 to end the loop. */
typedef long (*loop_body)(uint32_t number, const void* context);

/* The kernel's loop, whose body the verifier follows once. It changes no context, which stands on
 * the stack: Linux 6.1 takes what stands there before the loop for what stands there always, and
 * removes code that this would make unreachable. What a loop finds goes into a map. */
INLINE void kernel_loop(uint32_t times, loop_body body, const void* context) {
  bpf_loop(times, body, (void*)context, 0);
}

/* Packets are not aligned. Types that said so would make clang load byte by byte, so the loads say
 * nothing; the processors that run this do not mind. The build turns off strict aliasing. */
