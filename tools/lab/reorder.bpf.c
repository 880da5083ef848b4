// SPDX-License-Identifier: Apache-2.0
//
// Makes some packets of a lab's link arrive behind later ones. No packet is lost, and none arrives
// twice. tools/lab/reorder.py compiles this file once for each direction, and network.py attaches
// it at a rank's end. There it sees all packets that a packet program or a P4 device at the other
// end receives or sends.
//
//   eth0 (hold) --a share--> detour, HTB --> the detour's end (release) --> eth0 (let pass)
//
// The detour has lines, which are classes of HTB that take one packet at a time. A class sends its
// first packet at once, and only then makes others wait. Therefore a packet sends a copy ahead, a
// filler, which is dropped at the end of the detour. A packet whose line is taken is not held back,
// so packets do not queue up.

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "tools/lab/neighbours.bpf.h"

#if !defined(REORDER_IN_2_POW_32) || !defined(HOLD_NS) || !defined(OVERHEAD) || !defined(LINES) || \
    !defined(DETOUR) || !defined(RETURN_FLAGS)
#error "reorder.py defines these"
#endif

// The numbers of kernel functions are part of the kernel's interface.
static __u64 (*const bpf_ktime_get_ns)(void) = (void*)BPF_FUNC_ktime_get_ns;
static __u32 (*const bpf_get_prandom_u32)(void) = (void*)BPF_FUNC_get_prandom_u32;
static long (*const bpf_clone_redirect)(struct __sk_buff* packet, __u32 interface,
                                        __u64 flags) = (void*)BPF_FUNC_clone_redirect;
static long (*const bpf_redirect)(__u32 interface, __u64 flags) = (void*)BPF_FUNC_redirect;

// The mark of a packet says where it is on the detour. Its low bits are the index of the interface
// to which the packet returns. A mark does not leave the namespace.
enum {
  kPlace = 0x7ffff000,
  kFiller = 0x1f0d1000,
  kHeld = 0x1f0d2000,
  kReleased = 0x1f0d3000,
  kIndex = 0xfff,
  kFirstLine = 0x10001,  // HTB takes the number of the class from the priority
};

static __u64 packets;         // chosen to be held back
static __u64 free_at[LINES];  // when the line has sent its last packet and recovered

// On the slowest line, the filler and the packet take HOLD_NS each, and more if they are long.
// Another eighth allows for late timers.
static inline __u64 taken_ns(__u32 packet_bytes) {
  return (__u64)HOLD_NS * 2 / OVERHEAD * (OVERHEAD + packet_bytes) / 8 * 9;
}

__attribute__((section("hold"), used)) int divert(struct __sk_buff* packet) {
  // A released packet goes on to the next program, which may lose it and has not seen it before.
  if ((packet->mark & kPlace) == kReleased) {
    packet->mark = 0;
    return TC_ACT_UNSPEC;
  }
  if (bpf_get_prandom_u32() >= REORDER_IN_2_POW_32) return TC_ACT_UNSPEC;
  if (finds_neighbours(packet) || packet->ifindex > kIndex) return TC_ACT_UNSPEC;

  const __u64 now = bpf_ktime_get_ns();
  const __u32 line = __sync_fetch_and_add(&packets, 1) % LINES;
  if (now < free_at[line]) return TC_ACT_UNSPEC;
  free_at[line] = now + taken_ns(packet->len);

  packet->priority = kFirstLine + line;
  packet->mark = kFiller;
  bpf_clone_redirect(packet, DETOUR, 0);
  packet->mark = kHeld | packet->ifindex;
  return bpf_redirect(DETOUR, 0);
}

__attribute__((section("release"), used)) int give_back(struct __sk_buff* packet) {
  if ((packet->mark & kPlace) != kHeld) return TC_ACT_SHOT;
  const __u32 interface = packet->mark & kIndex;
  packet->mark = kReleased;
  return bpf_redirect(interface, RETURN_FLAGS);
}
