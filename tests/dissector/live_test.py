#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the Wireshark dissector on packets of real jobs over loopback. It must know all packets,
and call none of them malformed. The elements that it shows for each result must be the sum of those
that it shows for the contributions.

Usage: live_test.py INFOLD
"""

import contextlib
import math
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile

import capture

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "network"))
from processes import PATIENCE, Job, expect, free_port, outcome, run_each, wait_until

WORLD = 2
# This is not a packet of infold. It is sent after a job, so in the file it comes after all packets
# of the job.
LAST = b"the last datagram"


def wait_until_all_is_written(port, path):
    """Waits, because dumpcap that is told to end drops what it has not read yet."""
    with socket.socket(type=socket.SOCK_DGRAM) as sender:

        def is_last_written():
            sender.sendto(LAST, ("127.0.0.1", port))
            return LAST in path.read_bytes()

        wait_until(is_last_written, "dumpcap does not write what it captures")


@contextlib.contextmanager
def captured(port, path):
    """Captures packets of the port into the file. The buffer holds all packets of a job here."""
    command = ["dumpcap", "-q", "-B", "64", "-i", "lo", "-f", f"udp port {port}", "-w", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as dumpcap:
        try:
            said = ""
            for line in dumpcap.stderr:
                said += line
                if line.startswith("File:"):
                    break
            else:
                raise RuntimeError(f"dumpcap: {said}")
            yield
            wait_until_all_is_written(port, path)
        finally:
            dumpcap.send_signal(signal.SIGINT)
            dumpcap.communicate(timeout=PATIENCE)


def packets_of_job(binary, *words):
    """Returns all packets of a job of two ranks and a switch, as the dissector shows them."""
    with tempfile.TemporaryDirectory() as folder, Job(binary) as job:
        port, path = free_port(), pathlib.Path(folder) / "job.pcapng"
        job.start_switch(port)
        with captured(port, path):
            ranks = [
                job.start_rank(
                    rank,
                    WORLD,
                    "--switch",
                    f"127.0.0.1:{port}",
                    "--iterations",
                    "2",
                    "--check",
                    *words,
                    host=str(rank),
                )
                for rank in range(WORLD)
            ]
            for rank in ranks:
                status, said = outcome(rank)
                expect(status == 0, said)
        datagrams = list(capture.dissect(path, "-Y", f"!(udp contains {LAST.hex(':')})"))
    expect(datagrams, "nothing was captured")
    for shown in datagrams:
        expect(shown.packets and not shown.lua_errors, (shown.protocols, shown.lua_errors))
        expect(not shown.malformed(), (shown.malformed(), shown.fields))
    return [packet for shown in datagrams for packet in shown.packets]


def with_kind(packets, kind):
    return [p for p in packets if any(f": {kind} (" in text for text in p.texts("kind"))]


def chunk(packet):
    return tuple(packet.numbers(name)[0] for name in ("slot", "round"))


def sums(packets):
    """Yields (contributions, result) of each chunk whose packets have elements."""
    parts = {}
    for packet in with_kind(packets, "ADD"):
        parts.setdefault(chunk(packet), {})[packet.numbers("worker")[0]] = packet
    for result in with_kind(packets, "RESULT"):
        if result.numbers("contributors") == [WORLD]:
            expect(len(parts[chunk(result)]) == WORLD, f"a contribution to {chunk(result)} lacks")
            yield list(parts[chunk(result)].values()), result


def integers_are_summed(binary):
    packets = packets_of_job(binary, "--dtype", "i32", "--bytes", "4,65536")
    count = 0
    for contributions, result in sums(packets):
        total = [
            sum(each) for each in zip(*(p.numbers("element") for p in contributions), strict=True)
        ]
        wrapped = [(each + 2**31) % 2**32 - 2**31 for each in total]
        expect(result.numbers("element") == wrapped, (chunk(result), wrapped))
        count += 1
    # At this MTU, each rank sends 64 KiB as 47 chunks.
    expect(count > 2 * 2 * 40, f"only {count} results")


def floats_are_summed(binary):
    packets = packets_of_job(binary, "--dtype", "f32", "--format", "bfp16", "--bytes", "65536")
    count = 0
    for contributions, result in sums(packets):
        terms = zip(*(map(float, p.values("value")) for p in contributions), strict=True)
        found = list(map(float, result.values("value")))
        # Allow half a unit of the result, which is at most 2^-13 of the block's largest number.
        room = 2**-13 * max(map(abs, found))
        expect(
            all(
                math.isclose(a + b, c, rel_tol=0, abs_tol=room)
                for (a, b), c in zip(terms, found, strict=True)
            ),
            chunk(result),
        )
        count += 1
    expect(count > 2 * 2 * 20, f"only {count} results")


def native_floats_are_summed(binary):
    packets = packets_of_job(binary, "--dtype", "f32", "--format", "native", "--bytes", "65536")
    count = 0
    for contributions, result in sums(packets):
        terms = zip(*(map(float, p.values("value")) for p in contributions), strict=True)
        nearest = [struct.unpack("<f", struct.pack("<f", a + b))[0] for a, b in terms]
        expect(list(map(float, result.values("value"))) == nearest, (chunk(result), nearest))
        count += 1
    expect(count > 2 * 2 * 40, f"only {count} results")


def zeros_are_left_out(binary):
    packets = packets_of_job(binary, "--bytes", "262144", "--layout", "blocks", "--zeros", "0.9")
    sparse = [p for p in packets if p.numbers("flags.sparse") == [1]]
    expect(len(sparse) > 10 and all(p.values("block_set") for p in sparse), len(sparse))


if __name__ == "__main__":
    REASON = capture.why_not() or capture.why_not_live()
    if REASON:
        print(REASON)
        sys.exit(capture.SKIPPED)
    sys.exit(
        run_each(
            integers_are_summed, floats_are_summed, native_floats_are_summed, zeros_are_left_out
        )
    )
