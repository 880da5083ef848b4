#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sums through a switch in the kernel, with workers that are real processes over real interfaces.
The tests have every collective, type, operation and wire format, small and large packets, losses, a
stripe with a switch in user space, and other traffic beside a job.

Usage: xdp_sums_test.py INFOLD [TEST ...]
Needs root. Without packet programs or namespaces it ends with status 77 and the reason.
"""

import functools
import json
import pathlib
import sys

import metrics
from processes import PATIENCE, SHORT_THEN_LONG, expect, outcome, wait_for_sums
from xdp_network import (
    SWITCH,
    SWITCH6,
    Network,
    at,
    be_alone,
    expect_all_well,
    lose_uphill,
    network,
    ports,
    run_all,
    space_of,
    stop,
)

FOLDER = pathlib.Path(__file__).resolve().parent
# Sizes around those of blocks and chunks, for both packet sizes.
SIZES = ("--elements", "0,1,33,353,1500")
# Workers here have the same number at all aggregators, so none of these may be counted.
NEVER = (
    "dropped_checksum",
    "dropped_broken",
    "dropped_unsummed",
    "dropped_unsendable",
    "dropped_bad_worker",
    "dropped_wrong_source",
    "dropped_bad_slot",
    "dropped_limits",
    "dropped_part",
    "dropped_malformed",
)


def verifies(job, world, *words, devices=None, listen=SWITCH, native=True):
    switch, said = job.start_xdp(devices or ports(world), listen=listen)
    expect(all((port["mode"] == "native") == native for port in said["interfaces"]), said)
    expect_all_well(job.start_ranks(world, "verify", *SIZES, *words, switch=listen))
    counted, heard = stop(switch)
    expect(counted["completed"] > 1000 and counted["answered_probe"] >= world, counted)
    expect(not [name for name in NEVER if counted[name]], counted)
    expect(not heard, heard)
    return counted


def every_call_has_the_right_bits(binary):
    for world, mtu in ((2, 1500), (3, 3498), (8, 1500), (8, 3500)):
        with network(world, "--mtu", str(mtu)), Network(binary) as job:
            verifies(job, world)


def short_broadcasts_need_no_question(binary):
    """The root gets its brief result when another rank completes the chunk (R-067)."""
    # Bodies of 41 to 64 bytes in f32, with few calls besides broadcasts. In the past the root
    # asked about each of these chunks that it did not complete: three of a hundred of all chunks.
    calls = ("--elements", "11,12,13,14,15,16", "--reductions", "or", "--rounds", "8")
    for listen in (SWITCH, SWITCH6):
        with network(3), Network(binary) as job:
            switch, _ = job.start_xdp(ports(3), listen=listen)
            expect_all_well(job.start_ranks(2, "verify", *calls, switch=listen))
            counted, _ = stop(switch)
            # A busy machine may cause a few questions.
            expect(counted["replayed"] < counted["completed"] / 100, counted)
            expect(not counted["dropped_unsendable"], counted)


def ipv6_works_as_well(binary):
    with network(2), Network(binary) as job:
        verifies(job, 2, listen=SWITCH6)


def eight_workers_lose_one_packet_in_a_hundred(binary):
    """Every link loses packets, in each direction."""
    for mtu in (1500, 3500):
        with (
            network(8, "--loss", "0.01", "--mtu", str(mtu), rate="100mbit"),
            Network(binary) as job,
        ):
            lose_uphill(8, 0.01)
            counted = verifies(job, 8)
            expect(counted["replayed"] > 0 and counted["answered_pending"] > 0, counted)


def losses_change_no_large_sum(binary):
    for mtu in (1500, 3498):
        with (
            network(4, "--loss", "0.01", "--mtu", str(mtu), rate="200mbit"),
            Network(binary) as job,
        ):
            lose_uphill(4, 0.01)
            switch, _ = job.start_xdp(ports(4))
            for wire in ("bfp32", "bfp16", "bfp8", "native"):
                expect_all_well(
                    job.start_ranks(
                        4,
                        "bench",
                        "allreduce",
                        "--bytes",
                        "4,2000000",
                        "--iterations",
                        "5",
                        "--format",
                        wire,
                        "--check",
                    )
                )
            stop(switch)


def zeros_are_left_out(binary):
    with network(3), Network(binary) as job:
        switch, _ = job.start_xdp(ports(3))
        for layout in ("blocks", "rows"):
            expect_all_well(
                job.start_ranks(
                    3,
                    "bench",
                    "allreduce",
                    "--bytes",
                    "4,66000,8000000",
                    "--iterations",
                    "3",
                    "--layout",
                    layout,
                    "--zeros",
                    "0.95",
                    "--check",
                )
            )
        stop(switch)


def the_generic_mode_sums_at_a_bridge(binary):
    """Uses an interface without native mode, which passes on packets that other interfaces have
    received."""
    with network(3, rate="1gbit"), Network(binary) as job:
        verifies(job, 3, devices="br0", native=False)


def a_stripe_over_both_planes_has_the_right_bits(binary):
    """The switch in user space is a host beside the ranks."""
    with network(4), Network(binary) as job:
        user = job.at(3, "switch", "--insecure", "--listen", "10.77.0.4:7700", "--json")
        expect("listening" in user.stdout.readline(), "the switch in user space does not start")
        switch, _ = job.start_xdp(ports(4))
        both = f"{SWITCH},10.77.0.4:7700"
        expect_all_well(job.start_ranks(3, "verify", *SIZES, switch=both))
        kernel, _ = stop(switch)
        process, _ = stop(user)
        for counted in (kernel, process):
            expect(counted["completed"] > 100, (kernel, process))


def a_hosts_leaf_sends_exact_sums(binary):
    """Ranks 0 and 1 share a host's memory. Packets of that host are wider than those of rank 2."""
    with network(2), Network(binary) as job:
        switch, _ = job.start_xdp(ports(2))
        ranks = [
            job.at(
                node,
                "verify",
                *SIZES,
                "--shared-memory",
                "always",
                "--switch",
                SWITCH,
                "--rank",
                str(rank),
                "--ranks",
                "3",
            )
            for rank, node in enumerate((0, 0, 1))
        ]
        ends = [outcome(rank) for rank in ranks]
        expect(all(status == 0 for status, _ in ends), ends)
        counted, _ = stop(switch)
        # One of the two workers' contributions waits, and the other completes the chunk.
        expect(counted["contributed"] == counted["completed"] > 1000, counted)


def two_jobs_do_not_meet(binary):
    """Each job has two of the interfaces and sums of its own, again and again in the same slots."""
    with network(4), Network(binary) as job:
        switch, _ = job.start_xdp(ports(4), "--slots", "1024")
        for turn in range(3):
            words = ("bench", "allreduce", "--bytes", "4,300000", "--iterations", "20", "--check")
            one = job.start_ranks(2, *words, "--job", f"one-{turn}")
            two = job.start_ranks(2, *words, "--dtype", "i32", "--job", f"two-{turn}", first=2)
            expect_all_well(one + two)
        stop(switch)


# Runs at the switch: echoes the bytes that come by TCP and UDP.
ECHO = r"""
import socket, sys, threading
tcp = socket.create_server(("10.77.0.254", 7801))
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.bind(("10.77.0.254", 7801))
def by_tcp():
    while True:
        client, _ = tcp.accept()
        while data := client.recv(1 << 16):
            client.sendall(data)
        client.close()
threading.Thread(target=by_tcp, daemon=True).start()
print("ready", flush=True)
while True:
    data, client = udp.recvfrom(1 << 16)
    udp.sendto(data, client)
"""
# The metrics of a page, and packets that no rank of a job sends.
SCRAPE = (
    "import urllib.request; "
    "print(urllib.request.urlopen('http://127.0.0.1:{}/metrics').read().decode(), end='')"
)
SEND = (
    "import sys; sys.path.insert(0, '{}'); import metrics; "
    "metrics.send(metrics.strangers()[0], ('{}', {}))"
)
# Runs at a rank: checks that all bytes come back, from the switch and from another rank.
TALK = r"""
import os, socket, struct, sys
sent = os.urandom(3_000_000)
tcp = socket.create_connection(("10.77.0.254", 7801), timeout=30)
got = bytearray()
for start in range(0, len(sent), 50_000):
    tcp.sendall(sent[start:start + 50_000])
    while len(got) < min(start + 50_000, len(sent)):
        got += tcp.recv(1 << 16)
assert got == sent, "TCP"
udp = socket.socket(type=socket.SOCK_DGRAM)
udp.settimeout(5)
for size in list(range(0, 1472, 7)) + [5000, 20000]:
    # The last two in fragments; among the first some that begin as packets of a job do.
    data = b"\xf1\x11" + os.urandom(size)
    for _ in range(5):
        udp.sendto(data, ("10.77.0.254", 7801))
        try:
            assert udp.recv(1 << 16) == data, f"UDP, {size} bytes"
            break
        except TimeoutError:
            pass
    else:
        raise AssertionError(f"UDP, {size} bytes, does not come back")
icmp = socket.socket(type=socket.SOCK_RAW, proto=socket.IPPROTO_ICMP)
icmp.settimeout(5)
def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff
for target in ("10.77.0.254", sys.argv[1]):
    for number in range(100):
        body = os.urandom(56)
        head = struct.pack("!BBHHH", 8, 0, 0, os.getpid() & 0xffff, number)
        head = struct.pack("!BBHHH", 8, 0, checksum(head + body), os.getpid() & 0xffff, number)
        icmp.sendto(head + body, (target, 0))
        while True:
            answer = icmp.recv(1 << 16)[20:]
            if answer[0] == 0 and answer[4:8] == head[4:8]:
                break
        assert answer[8:] == body, "ICMP"
print("all came back")
"""


def both_planes_count_alike(binary):
    """The planes count the same packets under the same names, while a job sums at each switch."""
    with network(3), Network(binary) as job:
        user = job.at(
            "switch",
            "switch",
            "--insecure",
            "--listen",
            "10.77.0.254:7701",
            "--metrics",
            "127.0.0.1:7791",
            "--json",
        )
        expect("listening" in user.stdout.readline(), "the switch in user space does not start")
        kernel, _ = job.start_xdp(ports(3), "--metrics", "127.0.0.1:7790")
        words = ("bench", "allreduce", *SHORT_THEN_LONG)
        ranks = [job.start_ranks(2, *words, switch=f"10.77.0.254:{port}") for port in (7700, 7701)]
        found, ends = {}, {}
        for switch, (first, _), port, page in (
            (kernel, ranks[0], 7700, 7790),
            (user, ranks[1], 7701, 7791),
        ):
            scrape = functools.partial(at, "switch", sys.executable, "-c", SCRAPE.format(page))
            wait_for_sums(first)
            packets, counted = metrics.strangers()
            counted["answered_probe"] += metrics.by_verdict(metrics.parse(scrape()))[
                "answered_probe"
            ]
            at(2, sys.executable, "-c", SEND.format(FOLDER, "10.77.0.254", port))
            samples = metrics.expect_counted(scrape, counted)
            expect(list(metrics.jobs(samples).values()) == [(2, 2, 512)], samples)
            expect(metrics.single(samples, "infold_slots_used") == 512, samples)
            expect(metrics.single(samples, "infold_memory_bytes") > 10e6, samples)
            for name in ("infold_packets_total", "infold_job_packets_total"):
                expect(metrics.by_verdict(samples, name)["completed"] > 100, samples)
            found[switch] = samples
        for rank in (*ranks[0], *ranks[1]):
            rank.kill()
        for switch in (kernel, user):
            switch.terminate()
            out, _ = switch.communicate(timeout=PATIENCE)
            ends[switch] = json.loads(out.splitlines()[-1])
            metrics.expect_same_at_end(found[switch], ends[switch])
            counts = ends[switch]["packets"]
            expect(sum(counts.values()) == ends[switch]["received_packets"], ends[switch])
        names = [set(metrics.by_verdict(found[switch])) for switch in (kernel, user)]
        expect(names[0] - names[1] == metrics.OF_PROGRAM and names[1] < names[0], names)
        of_plane = {"infold_unsent_packets_total", "infold_socket_messages_total"}
        expect(set(found[user]) - set(found[kernel]) == of_plane, set(found[user]))
        expect(set(found[kernel]) < set(found[user]), set(found[kernel]))


def other_traffic_crosses_unharmed(binary):
    """TCP, UDP of all sizes and ICMP, to the switch's host and past it, while a job sums."""
    with network(3), Network(binary) as job:
        switch, _ = job.start_xdp(ports(3))
        echo = job.start(space_of("switch"), sys.executable, "-c", ECHO)
        expect(echo.stdout.readline() == "ready\n", "nobody echoes")
        ranks = job.start_ranks(
            3, "bench", "allreduce", "--bytes", "400000", "--iterations", "400", "--check"
        )
        for rank in range(3):
            said = at(rank, sys.executable, "-c", TALK, f"10.77.0.{(rank + 1) % 3 + 1}")
            expect("all came back" in said, said)
        expect(ranks[0].poll() is None, "the job was over before the talk")
        expect_all_well(ranks)
        counted, heard = stop(switch)
        expect(not [name for name in NEVER if counted[name]], counted)
        expect(not heard, heard)


def checksums_left_to_a_card_are_named(binary):
    """A rank that does not add up checksums cannot join, and the switch gives the reason."""
    with network(2), Network(binary) as job:
        at(1, "ethtool", "-K", "eth0", "tx", "on")
        switch, _ = job.start_xdp(ports(2))
        ranks = job.start_ranks(2, "bench", "allreduce", "--bytes", "4", "--deadline", "3")
        status, said = outcome(ranks[1])
        expect(status == 1 and "10.77.0.254" in said, said)
        outcome(ranks[0])
        counted, heard = stop(switch)
        expect(
            counted["dropped_unsummed"] > 0 and "ethtool -K INTERFACE tx off" in heard,
            (counted, heard),
        )


def datagrams_received(rank):
    """Returns the number that the sockets of a rank's host have received. A train counts as one."""
    lines = at(rank, "cat", "/proc/net/snmp").splitlines()
    names, values = (line.split() for line in lines if line.startswith("Udp:"))
    return int(values[names.index("InDatagrams")])


def results_arrive_in_trains(binary):
    """A rank's host can coalesce packets if each differs from the one before only in its sums."""
    with network(3), Network(binary) as job:
        for rank in range(3):
            at(rank, "ethtool", "-K", "eth0", "gro", "on")
            at("switch", "ethtool", "-K", f"port{rank}", "tso", "off")
        switch, _ = job.start_xdp(ports(3))
        before = [datagrams_received(rank) for rank in range(3)]
        expect_all_well(
            job.start_ranks(
                3, "bench", "allreduce", "--bytes", "4000000", "--iterations", "20", "--check"
            )
        )
        received = [datagrams_received(rank) - before[rank] for rank in range(3)]
        counted, _ = stop(switch)
        expect(all(4 * count < counted["completed"] for count in received), (received, counted))


def an_interface_that_is_left_out_is_named(binary):
    """The rank gets no packet from that interface, not even the echo of a probe."""
    with network(2), Network(binary) as job:
        switch, _ = job.start_xdp("port0")
        ranks = job.start_ranks(2, "bench", "allreduce", "--bytes", "4", "--deadline", "3")
        status, said = outcome(ranks[1])
        expect(status == 1 and "10.77.0.254" in said and "UDP" in said, said)
        outcome(ranks[0])
        counted, heard = stop(switch)
        expect("packets of 10.77.0.2 come past the program" in heard, heard)
        expect(counted["contributed"] == 0, counted)


if __name__ == "__main__":
    be_alone()
    sys.exit(
        run_all(
            every_call_has_the_right_bits,
            ipv6_works_as_well,
            short_broadcasts_need_no_question,
            the_generic_mode_sums_at_a_bridge,
            a_stripe_over_both_planes_has_the_right_bits,
            a_hosts_leaf_sends_exact_sums,
            zeros_are_left_out,
            two_jobs_do_not_meet,
            both_planes_count_alike,
            results_arrive_in_trains,
            other_traffic_crosses_unharmed,
            an_interface_that_is_left_out_is_named,
            checksums_left_to_a_card_are_named,
            losses_change_no_large_sum,
            eight_workers_lose_one_packet_in_a_hundred,
        )
    )
