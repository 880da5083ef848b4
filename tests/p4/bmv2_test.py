#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the P4 program on BMv2 the packets of infold_p4_packets. It must send what core::Adder
sends, and count the same verdicts; a drop may count for another reason. Frames that are shorter
than their headers say must be dropped. The same program without the round check must not send the
same. All workers are at one port of the switch, and the host is at another.

Usage: bmv2_test.py PROGRAM [SCENARIOS]    (infold_p4_packets; default 20)

Needs root, p4c-bm2-ss and simple_switch in PATH, and BMv2's Python modules. docs/switches/p4.md
says where these come from. Without them the test is skipped.
"""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

from frames import (ABORT, ADD, COMPLETED, DROPPED, ELEMENTS, ELSEWHERE, FIRST_KIND_DOWN, HOST_IP,
                    HOST_MAC, HOST_PORT, JOB_ENDED, MALFORMED, ROOT, TO_HOST, checksum_of,
                    digest_of, expect_difference, ip_of, is_for_host, kind_of, mac_of, make_frame,
                    packet, port_of, printed, read_frame, receivers, skip, steps, udp_sum, wide,
                    worker_of)

SCENARIOS = 20
MULTICAST = 10
THRIFT_PORT = 9190
START_S = 120
ANSWER_S = 2


try:
    from bm_runtime.simple_pre_lag import SimplePreLAG
    from bm_runtime.standard import Standard
    from bm_runtime.standard import ttypes
    from thrift.protocol import TBinaryProtocol, TMultiplexedProtocol
    from thrift.transport import TSocket, TTransport
except ImportError as missing:
    skip(f"no module {missing.name} of BMv2")


class Port:
    """The other end of one of the switch's ports."""

    def __init__(self, number):
        self.inner = f"inner{number}"
        outer = f"outer{number}"
        subprocess.run(["ip", "link", "add", outer, "type", "veth", "peer", "name", self.inner],
                       check=True)
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


class Switch:
    def __init__(self, program, ports):
        self.registers = [each["name"] for each in
                          json.loads(program.read_text(encoding="utf-8"))["register_arrays"]]
        words = [word for number, port in enumerate(ports, 1)
                 for word in ("-i", f"{number}@{port.inner}")]
        self.process = subprocess.Popen(["simple_switch", *words, "--thrift-port",
                                         str(THRIFT_PORT), "--log-level", "error", str(program)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.groups = []
        self.connect()
        self.add("Sum.admission.addresses", [HOST_IP, wide(HOST_PORT, 2)], "Sum.admission.take")
        self.add("Sum.forward.stations", [HOST_MAC], "Sum.forward.to_port", [wide(2, 2)])

    def connect(self):
        """Anew for each job: Thrift ends a connection that has carried 100 MB."""
        deadline = time.monotonic() + START_S
        while True:
            transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", THRIFT_PORT))
            try:
                transport.open()
                break
            except TTransport.TTransportException:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        inner = TBinaryProtocol.TBinaryProtocol(transport)

        def client(kind, name):
            return kind.Client(TMultiplexedProtocol.TMultiplexedProtocol(inner, name))
        self.standard = client(Standard, "standard")
        self.multicast = client(SimplePreLAG, "simple_pre_lag")

    def add(self, table, keys, action, data=()):
        match = [ttypes.BmMatchParam(type=ttypes.BmMatchParamType.EXACT,
                                     exact=ttypes.BmMatchParamExact(key)) for key in keys]
        return self.standard.bm_mt_add_entry(0, table, match, action, list(data),
                                             ttypes.BmAddEntryOptions(0))

    def count_of(self, verdict):
        return self.standard.bm_counter_read(0, "Sum.verdicts", verdict).packets


class Job:
    """The controller's part for one job."""

    def __init__(self, switch, number, epoch, slots, elements, ranks):
        self.switch, self.ranks = switch, ranks
        self.data = [wide(0, 2), wide(epoch, 4), wide(0, 4), wide(slots, 2), wide(elements, 2),
                     wide(sum(1 << rank for rank in ranks), 4), wide(MULTICAST, 2)]
        switch.connect()
        for register in switch.registers:
            switch.standard.bm_register_reset(0, register)
        for table in ("Sum.admission.jobs", "Sum.admission.senders", "Address.workers"):
            switch.standard.bm_mt_clear_entries(0, table, False)
        for group, nodes in switch.groups:
            for node in nodes:
                switch.multicast.bm_mc_node_destroy(0, node)
            switch.multicast.bm_mc_mgrp_destroy(0, group)
        group, nodes = switch.multicast.bm_mc_mgrp_create(0, MULTICAST), []
        self.entry = switch.add("Sum.admission.jobs", [wide(number, 2)], "Sum.admission.set_job",
                                [*self.data, wide(0, 1)])
        for worker, rank in enumerate(ranks):
            switch.add("Sum.admission.senders", [wide(0, 2), wide(worker, 1)],
                       "Sum.admission.set_sender",
                       [wide(1 << rank, 4), ip_of(worker), wide(digest_of(rank), 4),
                        mac_of(worker), wide(port_of(worker), 2), wide(1, 2)])
            switch.add("Address.workers", [wide(0, 2), wide(worker, 2)], "Address.address",
                       [mac_of(worker), ip_of(worker), wide(port_of(worker), 2)])
            node = switch.multicast.bm_mc_node_create(0, worker, "10", "")
            switch.multicast.bm_mc_node_associate(0, group, node)
            nodes.append(node)
        switch.groups = [(group, nodes)]

    def end(self):
        self.switch.standard.bm_mt_modify_entry(0, "Sum.admission.jobs", self.entry,
                                                "Sum.admission.set_job", [*self.data, wide(1, 1)])


class Replay:
    def __init__(self, switch, workers, host):
        self.switch, self.workers, self.host = switch, workers, host
        self.job = None
        # Some of these the host drops, not the program. On a busy machine they may come late.
        self.dropped = collections.deque(maxlen=64)
        self.packets = 0

    def counters(self, wanted):
        """The wanted one first. A packet that is dropped for several reasons counts as any."""
        watched = (wanted, TO_HOST, *DROPPED) if wanted in DROPPED else (wanted,)
        return [self.switch.count_of(each) for each in watched]

    def deliver(self, side, datagram, verdict, sent):
        """Raises AssertionError at the first difference."""
        kind, worker = kind_of(datagram), worker_of(datagram, len(self.job.ranks))
        source = ip_of(worker) if side == "worker" else ELSEWHERE
        for_host = is_for_host(datagram, verdict)
        expected = [(ip_of(each), port_of(each), answer) for to, answer in sent
                    for each in receivers(to, len(self.job.ranks)) if not for_host]
        wanted = TO_HOST if for_host else verdict
        frame = make_frame(datagram, worker, source)
        before = self.counters(wanted)
        late = self.workers.received(), self.host.received()
        if late[0] or any(each not in self.dropped for each in late[1]):
            raise AssertionError(f"after {self.packets} packets: unwanted frames {late}")
        self.workers.send(frame)
        answers, at_host, after = [], [], before
        deadline = time.monotonic() + ANSWER_S
        wanted_at_host = 1 if for_host else 0
        while time.monotonic() < deadline and (after == before or len(answers) < len(expected) or
                                               len(at_host) < wanted_at_host):
            answers += self.workers.received()
            at_host += [each for each in self.host.received()
                        if each == frame or each not in self.dropped]
            after = self.counters(wanted)
        after = self.counters(wanted)  # none of them was read before the packet had come
        answers += self.workers.received()
        self.packets += 1
        found = sorted(map(read_frame, answers))
        # What has no header is the host's.
        is_counted = after[0] == before[0] + 1 or (verdict in DROPPED and after != before) or \
            (verdict in DROPPED and kind >= FIRST_KIND_DOWN)
        is_at_host = at_host == [frame] or (not for_host and at_host == []) or \
            (verdict in DROPPED and at_host == [frame])
        if found != sorted(expected) or not is_counted or not is_at_host:
            raise AssertionError(f"after {self.packets} packets: {datagram.hex()}\n  verdict "
                                 f"{verdict}\n  wanted {expected}\n  got {found}, {len(at_host)} "
                                 f"at the host, counters {before} {after}")
        if verdict in DROPPED:
            self.dropped.append(frame)
        if verdict == JOB_ENDED and kind == ABORT:
            self.job.end()

    def run(self, lines):
        for step in steps(lines):
            if isinstance(step, tuple):
                self.deliver(*step)
            else:
                number, epoch, slots, elements, *ranks = step
                self.job = Job(self.switch, number, epoch, slots, elements, ranks)


def send_frames_that_are_too_short(replay):
    """Nothing is summed of them: what the frame does not have would be another packet's."""
    replay.job = Job(replay.switch, 7, 1, 1, ELEMENTS, [0])
    before = replay.counters(MALFORMED)[0]
    for missing in (2, 3, 40):
        frame = make_frame(packet(ADD, *range(24)), 0, ip_of(0))[:-missing]
        udp = frame[34:40] + bytes(2) + frame[42:]
        pseudo = frame[26:34] + struct.pack(">HH", 17, 8 + 32 + 48)  # the length of the whole
        replay.workers.send(frame[:40] + wide(checksum_of(pseudo + udp) or 0xFFFF, 2) + frame[42:])
    deadline = time.monotonic() + ANSWER_S
    while replay.counters(MALFORMED)[0] < before + 3 and time.monotonic() < deadline:
        pass
    frames = replay.workers.received()
    if replay.counters(MALFORMED)[0] != before + 3 or frames:
        raise AssertionError(f"too short frames: {replay.counters(MALFORMED)}, {frames}")


def send_a_result_whose_checksum_is_zero(replay):
    """It goes as 0xFFFF. A worker drops a packet without a checksum, each time that it comes."""
    replay.job = Job(replay.switch, 7, 1, 1, ELEMENTS, [0])
    ports = struct.pack(">HHHH", HOST_PORT, port_of(0), 8 + 34, 0)
    element = next(each for each in range(1 << 16)
                   if udp_sum(HOST_IP + ip_of(0), ports + packet(FIRST_KIND_DOWN, each)) == 0)
    replay.deliver("worker", packet(ADD, element), COMPLETED,
                   [("all", packet(FIRST_KIND_DOWN, element))])


def replayed(lines, ports, *definitions):
    """How many packets the program with these definitions answers as it should."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "infold.json"
        subprocess.run(["p4c-bm2-ss", *definitions, "-I", "p4", "p4/targets/v1model/infold.p4",
                        "-o", str(program)], cwd=ROOT, check=True)
        switch = Switch(program, ports)
        try:
            replay = Replay(switch, *ports)
            replay.run(lines)
            send_frames_that_are_too_short(replay)
            send_a_result_whose_checksum_is_zero(replay)
        finally:
            switch.process.kill()
            switch.process.wait()
    return replay.packets


def main():
    for program in ("p4c-bm2-ss", "simple_switch"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed")
    if os.geteuid() != 0:
        skip("a switch with ports of its own needs root")
    if "INFOLD_P4_INSIDE" not in os.environ:
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv],
                   os.environ | {"INFOLD_P4_INSIDE": "1"})
    lines = printed(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else SCENARIOS)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    ports = [Port(1), Port(2)]
    print(f"{replayed(lines, ports)} packets, all answered alike")
    expect_difference(
        lambda: replayed(lines, ports, "-DINFOLD_CANARY_WITHOUT_ROUND_CHECK"))


if __name__ == "__main__":
    main()
