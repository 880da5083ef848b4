# SPDX-License-Identifier: Apache-2.0
"""What a link of the lab does to packets: its rate as tbf arguments, its loss as a BPF program."""

import dataclasses
import pathlib
import platform
import subprocess

import quantity

SOURCE = pathlib.Path(__file__).resolve().with_name("loss.bpf.c")
ETHERNET_BYTES = 14  # of each frame; tbf counts these, but no preamble, checksum and gap

# A timer that fires late costs a link its turn, unless what was not sent may be sent later. So a
# pause earns credit for a millisecond at full rate. Credit is spent at 1.05 times the rate, never
# faster: a plain bucket of that size would let a tensor of 100 KB pass a 1 Gbit/s link at once.
CREDIT_S = 1e-3
PEAK = 1.05
# What may pass back to back: two frames, and what 20 us carry, which is how late timers are here.
LATENESS_S = 20e-6
# A switch port's buffer. TCP and delay-based windows fill less of it, a careless sender more.
QUEUE_S = 20e-3
QUEUE_FRAMES_MIN = 64


class LabError(Exception):
    """Something failed; the text says what, and what to do."""


class Unavailable(LabError):
    """This machine, or this user, cannot have a lab; the text says what is needed."""


def parse_rate(text):
    """Bits per second of '100mbit' or '10G'; None of 'none'."""
    if text == "none":
        return None
    refusal = ValueError(f"a rate is none, or 1mbit to 100gbit, not '{text}'")
    try:
        rate = quantity.rate(text)
    except ValueError:
        raise refusal from None
    if not 1e6 <= rate <= 100e9:
        raise refusal
    return int(rate)


@dataclasses.dataclass(frozen=True)
class Bucket:
    """The arguments of tbf for one direction of a link."""

    rate: int
    frame_bytes: int

    @property
    def burst_bytes(self):
        return 2 * self.frame_bytes + int(self.rate * CREDIT_S / 8)

    @property
    def back_to_back_bytes(self):
        return 2 * self.frame_bytes + int(self.rate * LATENESS_S / 8)

    @property
    def queue_bytes(self):
        return max(QUEUE_FRAMES_MIN * self.frame_bytes, int(self.rate * QUEUE_S / 8))

    def arguments(self):
        return (f"tbf rate {self.rate}bit burst {self.burst_bytes} limit {self.queue_bytes} "
                f"peakrate {int(self.rate * PEAK)}bit mtu {self.back_to_back_bytes}")


def compile_loss(loss, folder):
    """Compiles the program that loses packets with this probability; returns the object's path."""
    threshold = min(int(loss * 2**32), 2**32 - 1)
    path = pathlib.Path(folder) / f"loss-{threshold}.o"
    command = ["clang-19", "-O2", "-Wall", "-Wextra", "-Werror", "-target", "bpf",
               # Where Debian keeps asm/types.h; clang looks there only for the machine's own code.
               f"-I/usr/include/{platform.machine()}-linux-gnu",
               f"-DLOSS_IN_2_POW_32={threshold}u", "-c", str(SOURCE), "-o", str(path)]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        raise LabError(f"loss.bpf.c does not compile:\n{result.stderr}")
    return path

