#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts, stops and kills switches in the kernel, and starts two at one interface. Takes interfaces
down and away, and pins programs. Checks which programs stay, and the messages of switch and ranks.

Usage: xdp_lifetime_test.py INFOLD [TEST ...]
Needs root. Without packet programs or namespaces it ends with status 77 and the reason.
"""

import functools
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from processes import (
    PATIENCE,
    expect,
    expect_comeback,
    outcome,
    wait_for_sums,
    wait_until,
)
from xdp_network import (
    LONG,
    PINS,
    SUMS,
    SWITCH,
    Network,
    at,
    attached,
    be_alone,
    expect_all_well,
    lose,
    network,
    ports,
    run_all,
    space_of,
    stop,
)

PROGRAMS = ["infold_switch", "send_noted"]


def expect_attached(world, programs):
    for rank in range(world):
        expect(attached(f"port{rank}") == programs, f"port{rank}: {attached(f'port{rank}')}")


def wait_for_word(switch, text):
    """Waits for a message, which others may precede: a removed interface first goes down."""
    said = ""
    while text not in said:
        line = switch.stderr.readline()
        said += line
        expect(line, f"not '{text}' but: {said}")


# Runs at a rank: prints worker, slot, round, reason, rank and other of the first ABORTED.
WATCH = r"""
import socket, struct
watch = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
watch.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
print("ready", flush=True)
while True:
    frame, where = watch.recvfrom(2048)
    packet = frame[42:]
    comes_in = where[2] != socket.PACKET_OUTGOING and frame[23] == 17
    if comes_in and packet[:2] == b"\xf1\x1b" and packet[3] == 0:  # not an answer to rank 1
        break
print(packet[3], *struct.unpack_from("!H", packet, 6), *struct.unpack_from("!I", packet, 12),
      *struct.unpack_from("!HHH", packet, 32))
"""


def nothing_stays(binary):
    """Checks this after a stop and after a kill. Before Linux 6.6, a kill leaves a program that
    does nothing."""
    with network(2), Network(binary) as job:
        for ending in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            switch, said = job.start_xdp(ports(2))
            has_links = all(port["ingress"] == "link" for port in said["interfaces"])
            left = [] if has_links or ending != signal.SIGKILL else PROGRAMS[1:]
            expect_attached(2, PROGRAMS)
            expect_all_well(job.start_ranks(2, *SUMS))
            switch.send_signal(ending)
            switch.wait(PATIENCE)
            expect(switch.returncode in (0, -signal.SIGKILL), switch.returncode)
            # The kernel takes a killed process's links away soon after the process.
            wait_until(
                lambda left=left: attached("port0") == attached("port1") == left, "programs stay"
            )


def a_running_job_is_told(binary):
    """Ranks are told that the switch has ended, as with any switch."""
    for ending in (signal.SIGTERM, signal.SIGKILL):
        with network(2), Network(binary) as job:
            switch, _ = job.start_xdp(ports(2))
            ranks = job.start_ranks(2, *LONG, "--deadline", "3")
            wait_for_sums(ranks[0])
            switch.send_signal(ending)
            for rank in ranks:
                status, said = outcome(rank)
                expect(
                    status == 1
                    and "aggregator 0 at 10.77.0.254:7700" in said
                    and "has stopped or cannot be" in said,
                    said,
                )


def a_killed_rank_is_named_and_its_slots_come_back(binary):
    with network(3), Network(binary) as job:
        switch, _ = job.start_xdp(ports(3), "--slots", "512")
        for victim in range(3):
            ranks = job.start_ranks(3, *LONG)
            wait_for_sums(ranks[0])
            ranks[victim].kill()
            for other in ranks:
                if other is not ranks[victim]:
                    status, said = outcome(other)
                    expect(status == 1 and f"rank {victim} is gone" in said, said)
        end = time.monotonic() + PATIENCE
        while True:
            ends = [outcome(rank) for rank in job.start_ranks(3, *SUMS)]
            if all(status == 0 for status, _ in ends):
                break
            expect(time.monotonic() < end, ends)
        stop(switch)


def a_second_switch_is_refused(binary):
    """A second switch is refused at any interface of the first, at any address. The first goes on
    working."""
    with network(2), Network(binary) as job:
        switch, _ = job.start_xdp("port1")
        second = job.at(
            "switch",
            "switch",
            "--insecure",
            "--plane",
            "xdp",
            "--dev",
            "port0,port1",
            "--listen",
            "10.77.0.254:7799",
        )
        status, said = outcome(second)
        expect(
            status == 1 and f"port1 has an infold switch already: process {switch.pid}" in said,
            said,
        )
        expect(not attached("port0") and attached("port1") == PROGRAMS, "what was attached")
        stop(switch)


def somebody_elses_program_is_left_alone(binary):
    with network(2), Network(binary) as job, tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "pass.bpf.c")
        source.write_text(
            '__attribute__((section("xdp"), used)) int theirs(void* c) { (void)c; return 2; }\n',
            encoding="utf-8",
        )
        subprocess.run(
            ["clang-19", "-O2", "-g", "-target", "bpf", "-c", source, "-o", f"{folder}/pass.o"],
            check=True,
        )
        at(
            "switch",
            "ip",
            "link",
            "set",
            "dev",
            "port1",
            "xdp",
            "obj",
            f"{folder}/pass.o",
            "sec",
            "xdp",
        )
        status, said = outcome(
            job.at(
                "switch",
                "switch",
                "--insecure",
                "--plane",
                "xdp",
                "--dev",
                ports(2),
                "--listen",
                SWITCH,
            )
        )
        expect(status == 1 and "port1 has an XDP program already ('theirs'" in said, said)
        expect(not attached("port0"), "port0 is not given back")


def filters_behind_it_see_what_is_not_ours(binary):
    """The filter here is a program that loses all packets at its port's ingress."""
    with network(2), Network(binary) as job:
        switch, _ = job.start_xdp(ports(2))
        talk = (
            "import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('10.77.0.254'"
            ", 9)); s.send(b'x'); s.settimeout(0.5); s.recv(9)"
        )
        expect("ConnectionRefused" in at(0, sys.executable, "-c", talk, status=1), "no way there")
        at("switch", "tc", "qdisc", "replace", "dev", "port0", "clsact")
        lose("switch", "port0", "ingress", 1)
        expect("TimeoutError" in at(0, sys.executable, "-c", talk, status=1), "it saw nothing")
        expect_all_well(job.start_ranks(1, *SUMS, first=1))
        stop(switch)


def an_interface_that_is_down_is_waited_for(binary):
    with network(2), Network(binary) as job:
        switch, _ = job.start_xdp(ports(2))
        ranks = job.start_ranks(
            2, "bench", "allreduce", "--bytes", "64,400000", "--iterations", "300", "--check"
        )
        wait_for_sums(ranks[0])
        at("switch", "ip", "link", "set", "port1", "down")
        wait_for_word(switch, "port1 is down")
        at("switch", "ip", "link", "set", "port1", "up")
        wait_for_word(switch, "port1 is up again")
        expect_all_well(ranks)
        stop(switch)


def a_worker_behind_an_interface_that_is_gone_is_lost(binary):
    """The other ranks hear of it at once and can make a new job. Without interfaces the switch
    ends."""
    with network(3), Network(binary) as job:
        switch, _ = job.start_xdp(ports(3))
        ranks = job.start_ranks(3, *LONG, "--deadline", "60")
        wait_for_sums(ranks[0])
        at("switch", "ip", "link", "del", "port2")
        wait_for_word(switch, "port2 is gone")
        wait_for_word(switch, "rank 2 was behind port2")
        for rank in ranks[:2]:
            status, said = outcome(rank)
            expect(status == 1 and "rank 2 is gone" in said, said)
        ranks[2].kill()
        expect_all_well(job.start_ranks(2, *SUMS, "--job", "another"))
        for port in ("port0", "port1"):
            at("switch", "ip", "link", "del", port)
        status, said = outcome(switch)
        expect(status == 1 and "no interface is left" in said, said)


def what_is_pinned_is_taken_over(binary):
    """Pinned programs stay after a kill and after a stop. A switch that does not pin removes
    them."""
    with network(2), Network(binary) as job:
        seen = set()
        for turn, ending in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)):
            switch, said = job.start_xdp(ports(2), "--pin")
            expect(
                said["pinned"]
                and all(
                    port["taken_over"] == (turn > 0) and port["mode"] == "native"
                    for port in said["interfaces"]
                ),
                said,
            )
            expect_all_well(job.start_ranks(2, *SUMS))
            second = job.at(
                "switch",
                "switch",
                "--insecure",
                "--plane",
                "xdp",
                "--dev",
                "port0",
                "--listen",
                "10.77.0.254:7799",
                "--pin",
            )
            status, text = outcome(second)
            expect(status == 1 and f"process {switch.pid}" in text, text)
            switch.send_signal(ending)
            switch.wait(PATIENCE)
            expect_attached(2, PROGRAMS)
            seen.add(at("switch", "ip", "-j", "link", "show", "dev", "port0"))
        expect(len(seen) == 3, "an old program was kept")
        expect(len(list(pathlib.Path(PINS, "infold").iterdir())) == 2, "pins")
        switch, said = job.start_xdp(ports(2))
        expect(not any(port["taken_over"] for port in said["interfaces"]), said)
        expect(not list(pathlib.Path(PINS, "infold").iterdir()), "pins stay")
        expect_all_well(job.start_ranks(2, *SUMS))
        stop(switch)
        expect_attached(2, [])


def a_job_comes_back_to_a_switch_that_was_killed(binary):
    """A pinned program goes on working, and the next switch takes it over."""

    def job_with(words):
        with network(2), Network(binary) as job:
            switch, _ = job.start_xdp(ports(2), *words)
            ranks = job.start_ranks(
                2,
                "bench",
                "allreduce",
                "--bytes",
                "64,4000000",
                "--iterations",
                "30",
                "--check",
                "--deadline",
                "50",
            )
            wait_for_sums(ranks[0])
            switch.kill()
            switch.wait(PATIENCE)
            again, _ = job.start_xdp(ports(2), *words)
            ends = [outcome(rank) for rank in ranks]
            stop(again)
            return ends

    for words in ((), ("--pin",)):
        expect_comeback(functools.partial(job_with, words))


def a_worker_behind_a_dead_link_is_told_by_a_packet(binary):
    """The connection may take long to break, so the switch must send a packet to all, which names
    no worker. On a busy machine, rank 1 may have asked before, and then also gets an answer of its
    own."""
    with network(3), Network(binary) as job:
        switch, _ = job.start_xdp(ports(3))
        ranks = job.start_ranks(3, *LONG, "--deadline", "60")
        wait_for_sums(ranks[0])
        watch = job.start(space_of(1), sys.executable, "-c", WATCH)
        expect(watch.stdout.readline() == "ready\n", "nobody watches")
        at("switch", "ip", "link", "del", "port2")
        first = watch.communicate(timeout=PATIENCE)[0]
        # ABORTED to all by R-080: worker, slot and round are 0, the reason is 5, and rank 2 is
        # lost.
        expect(first.split() == ["0", "0", "0", "5", "2", "2"], first)
        for rank in ranks[:2]:
            outcome(rank)
        ranks[2].kill()
        stop(switch)


def root_pins_without_its_other_capabilities(binary):
    """Pins as the service of docs/switches/kernel.md does."""
    with network(1), Network(binary) as job:
        held = "bpf,+net_admin,+perfmon"
        pinning = job.start(
            space_of("switch"),
            "setpriv",
            f"--bounding-set=-all,+{held}",
            binary,
            "switch",
            "--insecure",
            "--plane",
            "xdp",
            "--listen",
            SWITCH,
            "--dev",
            "port0",
            "--pin",
        )
        expect("summed in the kernel" in pinning.stdout.readline(), "it does not start")
        pinning.terminate()
        expect(outcome(pinning)[0] == 0 and attached("port0") == PROGRAMS, "it does not pin")


def pins_of_an_interface_that_is_gone_do_no_harm(binary):
    with network(2), Network(binary) as job:
        switch, _ = job.start_xdp("port1", "--pin")
        index = at("switch", "ip", "-o", "link", "show", "dev", "port1").split(":")[0]
        switch.kill()
        switch.wait(PATIENCE)
        at("switch", "ip", "link", "del", "port1")
        at(
            "switch",
            "ip",
            "link",
            "add",
            "port1",
            "index",
            index,
            "type",
            "veth",
            "peer",
            "name",
            "other",
        )
        at("switch", "ip", "link", "set", "port1", "up")
        switch, said = job.start_xdp("port1", "--pin")
        expect(not said["interfaces"][0]["taken_over"], said)
        expect(attached("port1") == PROGRAMS, attached("port1"))
        stop(switch)


if __name__ == "__main__":
    be_alone()
    sys.exit(
        run_all(
            nothing_stays,
            a_running_job_is_told,
            a_killed_rank_is_named_and_its_slots_come_back,
            a_second_switch_is_refused,
            somebody_elses_program_is_left_alone,
            filters_behind_it_see_what_is_not_ours,
            an_interface_that_is_down_is_waited_for,
            a_worker_behind_an_interface_that_is_gone_is_lost,
            a_worker_behind_a_dead_link_is_told_by_a_packet,
            what_is_pinned_is_taken_over,
            a_job_comes_back_to_a_switch_that_was_killed,
            pins_of_an_interface_that_is_gone_do_no_harm,
            root_pins_without_its_other_capabilities,
        )
    )
