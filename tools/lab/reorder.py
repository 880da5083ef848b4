# SPDX-License-Identifier: Apache-2.0
"""Sends a share of a link's packets on a detour at the rank's end, so that they arrive behind later
ones."""

import dataclasses

from links import compile_program

# Long enough for some later packet to pass, and short beside a timeout of TCP (200 ms) and of a
# worker (10 ms). Lines differ in speed, so held packets also overtake each other.
HOLD_S = 1e-3  # in the fastest line; the slowest takes twice as long
# The hold is at least as long as this many frames take. A frame of 1500 bytes takes 1.2 ms at 10
# Mbit/s.
HOLD_FRAMES = 4
# How many packets are held back at a time in each direction. A packet takes its line for less than
# 5 ms, so that 64 lines hold back more than 10,000 packets a second.
LINES = 64
OVERHEAD_BYTES = 65535  # the most that HTB can add to each packet, so that lengths matter little
# Larger frames do not fit veth's native mode. In generic mode, the kernel does not run a packet
# program on a packet that another program has redirected.
NATIVE_MTU_MAX = 3498
INDEX = 1000  # the first interface's number, by which programs refer to it
WAYS = {"up": "egress", "down": "ingress"}
RETURN_FLAGS = {"up": 0, "down": 1}  # 1 is BPF_F_INGRESS


def end_of(way):
    return f"detour-{way}-end"


def held(arrived):
    """Returns how many of the packets that arrived at the end of a detour had been held. The other
    half are fillers. A train counts with all its packets, and so does its filler."""
    return arrived // 2


@dataclasses.dataclass(frozen=True)
class Detours:
    """The detours of one link, one for each direction."""

    share: float
    rate: int | None
    frame_bytes: int

    @property
    def hold_s(self):
        return max(HOLD_S, HOLD_FRAMES * self.frame_bytes * 8 / self.rate if self.rate else 0)

    def compile(self, folder):
        """Compiles the programs, and returns the paths of the objects by direction."""
        threshold, hold_ns = min(int(self.share * 2**32), 2**32 - 1), int(2 * self.hold_s * 1e9)
        return {
            way: compile_program(
                "reorder",
                f"{folder}/reorder-{way}-{threshold}-{hold_ns}.o",
                REORDER_IN_2_POW_32=f"{threshold}u",
                HOLD_NS=hold_ns,
                OVERHEAD=OVERHEAD_BYTES,
                LINES=LINES,
                DETOUR=INDEX + number,
                RETURN_FLAGS=RETURN_FLAGS[way],
            )
            for number, way in enumerate(WAYS)
        }

    def interfaces(self):
        """Lines for ip. The interfaces get no addresses, so they send nothing of their own."""
        for number, way in enumerate(WAYS):
            start, end = f"detour-{way}", end_of(way)
            yield (
                f"link add {start} index {INDEX + number} mtu {self.frame_bytes} type veth "
                f"peer name {end} mtu {self.frame_bytes}"
            )
            for device in (start, end):
                yield f"link set {device} addrgenmode none"
                yield f"link set {device} up"

    def queues(self, programs):
        """Lines for tc: the lines of the detours, and the programs at their ends."""
        for way in WAYS:
            start, end = f"detour-{way}", end_of(way)
            yield f"qdisc add dev {start} root handle 1: htb"
            for line in range(LINES):
                rate = OVERHEAD_BYTES * 8 / self.hold_s / (2 - line / LINES)
                yield (
                    f"class add dev {start} parent 1: classid 1:{line + 1:x} htb "
                    f"rate {int(rate)}bit overhead {OVERHEAD_BYTES} burst 100 cburst 100 "
                    "quantum 60000"
                )
            yield f"qdisc add dev {end} clsact"
            yield (
                f"filter add dev {end} ingress bpf direct-action object-file {programs[way]} "
                "section release"
            )

    @staticmethod
    def filters(programs, device):
        """Lines for tc that attach the programs to the device, before all programs without a
        number."""
        for way, hook in WAYS.items():
            yield (
                f"filter add dev {device} {hook} pref 1 bpf direct-action "
                f"object-file {programs[way]} section hold"
            )
