#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs two racks below a parent, as real processes over real interfaces. The racks' switches are in
user space and in the kernel. The test loses packets on the links between switches, and kills
processes.

Usage: racks_test.py INFOLD [TEST ...]
Needs root. Without namespaces or packet programs it ends with status 77 and the reason.
"""

import contextlib
import json
import os
import re
import signal
import sys

from processes import SHORT_THEN_LONG, expect, outcome, wait_for_sums
from racks_network import PARENT, RACKS, devices, lose_on_uplinks, racks, ranks_of, switch_of
from xdp_network import LACKS, Network, Unavailable, at, be_alone, expect_all_well, run_all, stop

SIZES = ("--elements", "0,1,33,161,1000")
USER, XDP = "user", "xdp"


def start_switch(job, node, plane, listen, *words):
    if plane == XDP:
        words = ("--plane", "xdp", *words)
    switch = job.at(node, "switch", "--insecure", "--listen", listen, "--json", *words)
    line = switch.stdout.readline()
    if not line:
        _, said = outcome(switch)
        if any(text in said for text in LACKS):
            raise Unavailable(said.strip())
        raise AssertionError(f"the switch at {node} does not start: {said}")
    expect(json.loads(line)["event"] == "listening", line)
    return switch


def start_switches(job, per_rack, planes, *words):
    """Starts the switches: the parent, then the racks', with a plane for each of the three."""
    devs = ("--dev", "down0,down1") if planes[0] == XDP else ()
    switches = [start_switch(job, "parent", planes[0], PARENT, *devs)]
    for rack, plane in zip(RACKS, planes[1:], strict=True):
        devs = ("--dev", devices(per_rack)) if plane == XDP else ()
        switches.append(
            start_switch(job, rack, plane, switch_of(rack), "--parent", PARENT, *devs, *words)
        )
    return switches


def start_ranks(job, nodes, *words):
    """Starts ranks, each at its switch, in the order given."""
    return [
        job.at(node, *words, "--switch", switch, "--rank", str(rank), "--ranks", str(len(nodes)))
        for rank, (node, switch) in enumerate(nodes)
    ]


@contextlib.contextmanager
def tree(binary, per_rack, planes, *words, **links):
    with racks(per_rack, **links), Network(binary) as job:
        yield job, start_switches(job, per_rack, planes, *words)


def verifies(binary, per_rack, planes, loss=0, words=(), **links):
    with tree(binary, per_rack, planes, **links) as (job, switches):
        if loss:
            lose_on_uplinks(loss)
        expect_all_well(start_ranks(job, ranks_of(per_rack), "verify", *SIZES, *words))
        counted = [stop(switch) for switch in reversed(switches)]
        expect(not any(heard for _, heard in counted), counted)
        root = counted[-1][0]
        # One of the two workers' contributions waits, and the other completes the chunk. An exact
        # sum may have several parts, and each part counts.
        expect(root["completed"] > 1000, root)
        expect(root["contributed"] >= root["completed"], root)
        for leaf, _ in counted[:2]:
            expect(leaf["delivered"] == leaf["completed"] == root["completed"], (leaf, root))
            if loss:
                expect(leaf["forwarded_again"] > 0, leaf)
        for counts, _ in counted:
            expect(
                not [
                    name
                    for name, count in counts.items()
                    if count
                    and re.match(
                        "dropped_(malformed|wrong|bad|limits|checksum|unsummed|unsendable)", name
                    )
                ],
                counts,
            )


def racks_in_user_space_sum(binary):
    verifies(binary, 4, (USER, USER, USER), words=("--native",))


def racks_in_the_kernel_sum_below_user_space(binary):
    verifies(binary, 4, (USER, XDP, XDP))


def racks_in_the_kernel_sum_below_the_kernel(binary):
    verifies(binary, 2, (XDP, XDP, XDP))


def racks_of_both_kinds_sum(binary):
    verifies(binary, 2, (USER, XDP, USER))
    verifies(binary, 2, (XDP, USER, XDP))


def uplinks_lose_one_packet_in_a_hundred(binary):
    for planes in ((USER, USER, USER), (USER, XDP, XDP)):
        verifies(binary, 2, planes, loss=0.01)


def a_smaller_uplink_decides_for_all(binary):
    """The MTU of the uplink is known, so no party sends a longer packet."""
    verifies(binary, 1, (USER, USER, XDP), uplink_mtu=1400)


def start_sums(job, per_rack):
    ranks = start_ranks(job, ranks_of(per_rack), "bench", "allreduce", *SHORT_THEN_LONG)
    wait_for_sums(ranks[0])
    return ranks


def expect_all_say(ranks, *texts):
    for process in ranks:
        status, said = outcome(process)
        expect(status == 1, f"a rank ended with {status}: {said}")
        expect(any(text in said for text in texts), f"a rank did not say {texts} but: {said}")


def a_killed_rank_is_named_in_every_rack(binary):
    for planes in ((USER, USER, USER), (USER, XDP, XDP)):
        with tree(binary, 2, planes) as (job, _):
            ranks = start_sums(job, 2)
            ranks[3].send_signal(signal.SIGKILL)
            expect_all_say(ranks[:3], "rank 3 is gone")


def a_killed_switch_is_named_in_every_rack(binary):
    """Kills the switch of a rack, or the parent. A rank that hears of it from packets first knows
    which site has failed."""
    addresses = (PARENT, *(switch_of(rack) for rack in RACKS))
    for planes, victims in (((USER, USER, USER), (0, 1)), ((USER, XDP, XDP), (0, 2))):
        for victim in victims:
            with tree(binary, 1, planes) as (job, switches):
                ranks = start_sums(job, 1)
                switches[victim].send_signal(signal.SIGKILL)
                expect_all_say(
                    ranks,
                    f"the switch at {addresses[victim]} has stopped",
                    f"(below {PARENT}) has stopped",
                )


def jobs_come_and_go(binary):
    """Runs two jobs at once, again and again, in slots that the racks reuse."""
    with tree(binary, 2, (USER, XDP, USER), "--slots", "1200") as (job, switches):
        words = ("bench", "allreduce", "--bytes", "4,300000", "--iterations", "5", "--check")
        for turn in range(3):
            nodes = ranks_of(2)
            both = start_ranks(job, nodes, *words, "--job", f"one-{turn}")
            both += start_ranks(job, nodes, *words, "--job", f"two-{turn}", "--dtype", "i32")
            expect_all_well(both)
        for switch in switches:
            stop(switch)


def a_neighbour_that_changes_is_found_again(binary):
    """The parent gets another hardware address, so the address that the racks know is wrong."""
    with tree(binary, 1, (USER, XDP, XDP)) as (job, _):
        ranks = start_ranks(
            job,
            ranks_of(1),
            "bench",
            "allreduce",
            "--bytes",
            "64,100000",
            "--iterations",
            "2000",
            "--check",
        )
        wait_for_sums(ranks[0])
        at("parent", "ip", "link", "set", "br0", "address", "02:00:00:00:00:99")
        for rack in RACKS:
            at(rack, "ip", "neigh", "flush", "dev", "up0")
        expect(ranks[0].poll() is None, "the job was over before the change")
        expect_all_well(ranks)


def an_uplink_that_is_left_out_is_named(binary):
    with racks(1), Network(binary) as job:
        start_switch(job, "parent", USER, PARENT)
        start_switch(job, "b", USER, switch_of("b"), "--parent", PARENT)
        leaf = start_switch(job, "a", XDP, switch_of("a"), "--parent", PARENT, "--dev", "port0")
        ranks = start_ranks(
            job, ranks_of(1), "bench", "allreduce", "--bytes", "64", "--deadline", "3"
        )
        for rank in ranks:
            status, said = outcome(rank)
            expect(status == 1, said)
        _, heard = stop(leaf)
        expect("come past the program, by an interface that --dev does not name" in heard, heard)


if __name__ == "__main__":
    be_alone()
    os.environ["INFOLD_REJOIN"] = "0"  # a rank that has lost a switch says so at once
    sys.exit(
        run_all(
            racks_in_user_space_sum,
            racks_in_the_kernel_sum_below_user_space,
            racks_in_the_kernel_sum_below_the_kernel,
            racks_of_both_kinds_sum,
            uplinks_lose_one_packet_in_a_hundred,
            a_smaller_uplink_decides_for_all,
            jobs_come_and_go,
            a_neighbour_that_changes_is_found_again,
            an_uplink_that_is_left_out_is_named,
            a_killed_rank_is_named_in_every_rack,
            a_killed_switch_is_named_in_every_rack,
        )
    )
