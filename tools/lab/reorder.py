# SPDX-License-Identifier: Apache-2.0
"""A share of a link's packets takes a detour at the rank's end, and arrives behind later ones."""

import dataclasses

from links import compile_program

# Long enough that some later packet passes, and short beside a timeout of TCP (200 ms) and of a
# worker (10 ms). Lines differ, so packets that are held back overtake each other too.
HOLD_S = 1e-3  # in the fastest line; the slowest takes twice as long
# Where a frame takes longer than that. An MTU of 1500 at 10 Mbit/s is 1.2 ms.
HOLD_FRAMES = 4
# Packets held back at a time, each way. 64 in 2 ms are more than 10,000 a second.
LINES = 64
OVERHEAD_BYTES = 65535  # the most that HTB can add to each packet, so that lengths matter little
# Larger frames do not fit veth's native mode. In generic mode the kernel runs no packet program on
# a packet that another program has redirected.
NATIVE_MTU_MAX = 3498
INDEX = 1000  # of the first interface; programs need a number
WAYS = {"up": "egress", "down": "ingress"}
RETURN_FLAGS = {"up": 0, "down": 1}  # 1 is BPF_F_INGRESS


def end_of(way):
    return f"detour-{way}-end"


def held(arrived):
    """Of the packets that arrive at the end of a detour, half are fillers. A train counts with all
    its packets, and so does its filler."""
    return arrived // 2


@dataclasses.dataclass(frozen=True)
class Detours:
    """Those of one link, one for each way."""

    share: float
    rate: int | None
    frame_bytes: int

    @property
    def hold_s(self):
        return max(HOLD_S, HOLD_FRAMES * self.frame_bytes * 8 / self.rate if self.rate else 0)

    def compile(self, folder):
        """The paths of the objects, by way."""
        threshold, hold_ns = min(int(self.share * 2**32), 2**32 - 1), int(2 * self.hold_s * 1e9)
        return {way: compile_program(
            "reorder", f"{folder}/reorder-{way}-{threshold}-{hold_ns}.o",
            REORDER_IN_2_POW_32=f"{threshold}u", HOLD_NS=hold_ns, OVERHEAD=OVERHEAD_BYTES,
            LINES=LINES, DETOUR=INDEX + number, RETURN_FLAGS=RETURN_FLAGS[way])
                for number, way in enumerate(WAYS)}

    def interfaces(self):
        """Lines for ip. Without addresses of their own these interfaces say nothing."""
        for number, way in enumerate(WAYS):
            start, end = f"detour-{way}", end_of(way)
            yield (f"link add {start} index {INDEX + number} mtu {self.frame_bytes} type veth "
                   f"peer name {end} mtu {self.frame_bytes}")
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
                yield (f"class add dev {start} parent 1: classid 1:{line + 1:x} htb "
                       f"rate {int(rate)}bit overhead {OVERHEAD_BYTES} burst 100 cburst 100 "
                       "quantum 60000")
            yield f"qdisc add dev {end} clsact"
            yield (f"filter add dev {end} ingress bpf direct-action object-file {programs[way]} "
                   "section release")

    @staticmethod
    def filters(programs, device):
        """Lines for tc: the programs at the device. Those without a number come after them."""
        for way, hook in WAYS.items():
            yield (f"filter add dev {device} {hook} pref 1 bpf direct-action "
                   f"object-file {programs[way]} section hold")
