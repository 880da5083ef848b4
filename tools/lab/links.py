# SPDX-License-Identifier: Apache-2.0
"""The properties of a lab's link: its rate as lines for tc, its loss as a BPF program. reorder.py
changes the order of its packets."""

import dataclasses
import pathlib
import platform
import subprocess

import quantity

ROOT = pathlib.Path(__file__).resolve().parents[2]
ETHERNET_BYTES = 14  # A shaper counts these bytes of a header, but not preamble, checksum and gap.

# A late timer costs a link time unless it may send the packets later. Therefore a pause earns
# credit for up to a millisecond at full rate. The link spends credit at 1.05 times the rate, never
# faster. A plain bucket of that size would let a tensor of 100 KB pass a 1 Gbit/s link at once.
CREDIT_S = 1e-3
PEAK = 1.05
# Two frames may pass back to back, and as many bytes as pass in 20 us, because timers are 20 us
# late here.
LATENESS_S = 20e-6
# The buffer of a switch port, as a time. TCP and windows that follow delay fill less of it than
# other senders.
QUEUE_S = 20e-3
QUEUE_FRAMES_MIN = 64


class LabError(Exception):
    """An operation failed. The text says which, and the remedy."""


class Unavailable(LabError):
    """This machine, or this user, cannot have a lab. The text says what is needed."""


def parse_rate(text):
    """Returns the bits per second of '100mbit' or '10G', and None for 'none'."""
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
    """The shaper of one direction of a link. It is htb with one class and not tbf, because tbf sets
    its timer again for every packet that arrives while others wait. On a virtual machine, that
    costs more than everything else on the packet's path."""

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

    def added(self, device):
        """Lines for tc."""
        return [
            f"qdisc add dev {device} root handle 1: htb default 1",
            *self._class_and_queue("add", device),
        ]

    def changed(self, device):
        """Lines for tc that give the device another rate. Its queue keeps its packets."""
        return self._class_and_queue("change", device)

    def _class_and_queue(self, verb, device):
        # A class without a parent sends while both its buckets have tokens. htb asks for a quantum
        # although no other class shares the link.
        return [
            f"class {verb} dev {device} parent 1: classid 1:1 htb rate {self.rate}bit "
            f"burst {self.burst_bytes} ceil {int(self.rate * PEAK)}bit "
            f"cburst {self.back_to_back_bytes} quantum 60000",
            f"qdisc {verb} dev {device} parent 1:1 handle 2: bfifo limit {self.queue_bytes}",
        ]


def compile_program(name, path, **values):
    """Compiles a BPF program with these numbers in it. Returns the path of the object."""
    command = [
        "clang-19",
        "-O2",
        "-mcpu=v3",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-target",
        "bpf",
        f"-I{ROOT}",
        # Debian keeps asm/types.h in this folder, where clang looks only when it compiles for the
        # machine itself.
        f"-I/usr/include/{platform.machine()}-linux-gnu",
        *(f"-D{key}={value}" for key, value in values.items()),
        "-c",
        str(ROOT / "tools" / "lab" / f"{name}.bpf.c"),
        "-o",
        str(path),
    ]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    if result.returncode != 0:
        raise LabError(f"{name}.bpf.c does not compile:\n{result.stderr}")
    return path


def compile_loss(loss, folder):
    """Compiles the program that drops packets with this probability. Returns the path of the
    object."""
    threshold = min(int(loss * 2**32), 2**32 - 1)
    return compile_program(
        "loss", pathlib.Path(folder) / f"loss-{threshold}.o", LOSS_IN_2_POW_32=f"{threshold}u"
    )
