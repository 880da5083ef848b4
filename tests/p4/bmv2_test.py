#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the P4 program on BMv2 the packets of infold_p4_packets. It must send what core::Adder
sends, and count the same verdicts; a drop may count for another reason, or at the host. Frames that
are shorter than their headers say must be dropped. The same program without the round check must
not send the same. All workers are at one port of the switch, and the host is at another.

Usage: bmv2_test.py PROGRAM [SCENARIOS]    (infold_p4_packets; default 20)

Needs root, p4c-bm2-ss and simple_switch in PATH, and BMv2's Python modules. docs/switches/p4.md
says where these come from. Without them the test is skipped.
"""

import collections
import contextlib
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import cases
import frames
from bmv2 import Bmv2
from frames import ADD, DROPPED, MALFORMED, NONE, STALE_ROUND, TO_HOST, number, swapped
from job import JOBS, Job

SCENARIOS = 20
WORKER_SIDE, HOST_SIDE = 1, 2  # ports
ANSWER_S = 2
# A drop counts as one of these: the host has the packet, no table knows its round, or the parser
# drops it.
DROPPED_AS = TO_HOST, NONE, STALE_ROUND, MALFORMED


class Port:
    """The other end of one of the switch's ports."""

    def __init__(self, number):
        self.inner = f"inner{number}"
        outer = f"outer{number}"
        subprocess.run(
            ["ip", "link", "add", outer, "type", "veth", "peer", "name", self.inner], check=True
        )
        for device in (outer, self.inner):
            path = pathlib.Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6")
            path.write_text("1", encoding="ascii")
            subprocess.run(["ip", "link", "set", device, "up"], check=True)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((outer, 0))
        self.socket.setblocking(False)

    def send(self, frame):
        self.socket.send(frame)

    def received(self):
        frames = []
        with contextlib.suppress(BlockingIOError):
            while True:
                frame, address = self.socket.recvfrom(1 << 16)
                if address[2] != socket.PACKET_OUTGOING and frame[12:14] == b"\x08\x00":
                    frames.append(frame)
        return frames


class Replay:
    def __init__(self, switch, workers, host):
        self.switch, self.workers, self.host = switch, workers, host
        self.job, self.jobs, self.packets = None, 0, 0
        switch.tables["Sum.admission.addresses"].add(
            [number(frames.HOST_IP), frames.HOST_PORT], "take"
        )
        switch.tables["Sum.forward.stations"].add([number(frames.HOST_MAC)], "to_port", [HOST_SIDE])

    def start_job(self, numbers):
        place = self.jobs % JOBS
        self.switch.connect()
        if place == 0:
            self.switch.clear_registers()
        self.job = Job(self.switch, place, numbers, lambda worker: WORKER_SIDE)
        self.jobs += 1

    def register(self, name, index):
        return self.switch.register(name, index)

    def counters(self, verdict):
        """Counts what a packet may count as, which is any reason if there are several to drop
        it."""
        watched = DROPPED_AS if verdict in DROPPED else (verdict,)
        return collections.Counter({each: self.switch.count_of(each) for each in watched})

    def outcome(self, frame, verdict, answers):
        """Waits for that many answers, for a count, and for the frame at the host if the count says
        so."""
        before, late = self.counters(verdict), self.workers.received() + self.host.received()
        if late:
            raise AssertionError(f"after {self.packets} packets: unwanted frames {late}")
        self.workers.send(frame)
        found, at_host, counted = [], [], before - before
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline and (
            not counted or len(found) < answers or len(at_host) < counted[TO_HOST] + counted[NONE]
        ):
            found += self.workers.received()
            at_host += self.host.received()
            counted = self.counters(verdict) - before
        return found, at_host, counted

    def deliver(self, side, datagram, verdict, sent):
        """Delivers a packet. Raises AssertionError at the first difference."""
        worker = frames.worker_of(datagram, len(self.job.ranks))
        source = frames.ip_of(worker) if side == "worker" else frames.ELSEWHERE
        frame = frames.make_frame(swapped(datagram), worker, source)
        expected, wanted, for_host = self.job.expected(datagram, verdict, sent)
        answers, at_host, counted = self.outcome(
            frame, TO_HOST if for_host else wanted, len(expected)
        )
        self.packets += 1
        found = sorted(
            (WORKER_SIDE, ip, port, swapped(answer))
            for ip, port, answer in map(frames.read_answer, answers)
        )
        if (
            found != expected
            or counted.total() != 1
            or len(at_host) != counted[TO_HOST] + counted[NONE]
            or any(not frames.is_alike(each, frame) for each in at_host)
        ):
            raise AssertionError(
                f"after {self.packets} packets: {datagram.hex()}\n  verdict "
                f"{verdict}\n  wanted {expected}\n  got {found}, {len(at_host)} "
                f"at the host, counted {counted}"
            )
        if verdict == frames.JOB_ENDED and frames.kind_of(datagram) == frames.ABORT:
            self.job.write_senders(has_ended=1)

    def run(self, lines):
        for step in frames.steps(lines):
            if isinstance(step, tuple):
                self.deliver(*step)
            else:
                self.start_job(step)


def send_frames_that_are_too_short(replay):
    """Nothing of them may be summed: what the frame does not have would be another packet's."""
    cases.start_with_a_skip(replay, 24)
    for missing in (2, 3, 40):
        frame = frames.make_frame(frames.packet(ADD, *range(24)), 0, frames.ip_of(0))[:-missing]
        udp = frame[34:40] + bytes(2) + frame[42:]
        pseudo = frame[26:34] + struct.pack(">HH", 17, 8 + 32 + 96)  # the length of the whole
        checksum = frames.checksum_of(pseudo + udp) or 0xFFFF
        outcome = replay.outcome(frame[:40] + frames.wide(checksum, 2) + frame[42:], MALFORMED, 0)
        if outcome != ([], [], {MALFORMED: 1}):
            raise AssertionError(f"a frame that is too short: {outcome}")
    cases.complete(replay, *range(24))


def send_wrong_checksums(replay):
    """A packet whose UDP checksum (R-001) or IPv4 header is wrong is not summed. It goes to the
    host, which drops it."""
    cases.start_with_a_skip(replay, 24)
    whole = frames.make_frame(frames.packet(ADD, *range(24)), 0, frames.ip_of(0))
    for place in frames.PLACES_OF_CHECKSUMS:
        altered = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        outcome = replay.outcome(altered, TO_HOST, 0)
        if outcome != ([], [altered], {TO_HOST: 1}):
            raise AssertionError(f"altered at {place}: {outcome}")
    cases.complete(replay, *range(24))


def send_other_traffic(replay):
    """An empty datagram of another service passes unchanged."""
    udp = struct.pack(">HHHH", 1, 2, 8, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28, 0, 0x4000, 64, 17, 0) + bytes((10, 9, 9, 9)) * 2
    frame = frames.HOST_MAC + frames.mac_of(0) + b"\x08\x00" + ip + udp
    outcome = replay.outcome(frame, NONE, 0)
    if outcome != ([], [frame], {NONE: 1}):
        raise AssertionError(f"an empty datagram: {outcome}")


def replayed(lines, ports, *definitions):
    """Returns how many packets the program with these definitions answers as it should."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "infold.json"
        subprocess.run(
            [
                "p4c-bm2-ss",
                "--Wdisable",
                *definitions,
                "-I",
                "planes/p4/pipeline",
                "planes/p4/pipeline/targets/v1model/infold.p4",
                "-o",
                str(program),
            ],
            cwd=frames.ROOT,
            check=True,
        )
        switch = Bmv2(program, ports)
        try:
            replay = Replay(switch, *ports)
            replay.run(lines)
            for check in (
                send_frames_that_are_too_short,
                send_wrong_checksums,
                send_other_traffic,
                *cases.ALL,
            ):
                replay.jobs = 0
                check(replay)
        finally:
            switch.end()
    return replay.packets


def main():
    for program in ("p4c-bm2-ss", "simple_switch"):
        if shutil.which(program) is None:
            frames.skip(f"{program} is not installed")
    if os.geteuid() != 0:
        frames.skip("a switch with ports of its own needs root")
    if "INFOLD_P4_INSIDE" not in os.environ:
        os.execvpe(
            "unshare",
            ["unshare", "--net", sys.executable, *sys.argv],
            os.environ | {"INFOLD_P4_INSIDE": "1"},
        )
    lines = frames.printed(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else SCENARIOS)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    ports = [Port(1), Port(2)]
    print(f"{replayed(lines, ports)} packets, all answered alike")
    frames.expect_difference(lambda: replayed(lines, ports, "-DINFOLD_CANARY_WITHOUT_ROUND_CHECK"))


if __name__ == "__main__":
    main()
