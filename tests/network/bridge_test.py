#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the recipe of docs/switches/hardware.md as it is written there: a bridge, a switch at its
address and then in the kernel, and two ranks. Each host of the page is a network namespace.

Usage: bridge_test.py INFOLD [NAME OF A TEST ...]
"""

import collections
import contextlib
import pathlib
import re
import shlex
import subprocess
import sys

from processes import expect, outcome
from xdp_network import NAME, Network, at, be_alone, first_output, run, run_all, stop

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "switches" / "hardware.md"
NODES = ("node1", "node2")
HOSTS = ("sum", *NODES)


def commands_of(page):
    """Returns {host: its commands, as lists of words}."""
    found = collections.defaultdict(list)
    for host, words in re.findall(r"^    (\w+)\$ (?:sudo )?(.*)$", page, re.MULTILINE):
        found[host].append(shlex.split(words))
    expect(set(found) == set(HOSTS), f"the page has commands for {sorted(found)}")
    return found


@contextlib.contextmanager
def hosts():
    """Makes the hosts of the page, with a link from each port of the bridge to a node's eth0."""
    try:
        for host in HOSTS:
            run("ip", "netns", "add", f"{NAME}-{host}")
            at(host, "ip", "link", "set", "lo", "up")
        for port, node in enumerate(NODES, start=1):
            link = f"link add eth{port} type veth peer name eth0 netns {NAME}-{node}"
            at("sum", "ip", *link.split())
            # A veth leaves checksums to a card that is not there (docs/switches/kernel.md).
            at(node, "ethtool", "-K", "eth0", "tx", "off")
        yield
    finally:
        for host in HOSTS:
            command = ("ip", "netns", "delete", f"{NAME}-{host}")
            subprocess.run(command, check=False, capture_output=True)


def ranks_sum(binary, which):
    """Follows the page with one of its switches."""
    commands = commands_of(PAGE.read_text("utf-8"))
    *bridge, _, _ = commands["sum"]
    programs = {host: commands[host][-1] for host in NODES} | {"sum": commands["sum"][which]}
    for host, (program, *_) in programs.items():
        expect(program == "infold", f"{host} runs {program}")
    with hosts(), Network(binary) as job:
        for words in bridge:
            at("sum", *words)
        for node in NODES:
            for words in commands[node][:-1]:
                at(node, *words)
        switch = job.at("sum", *programs["sum"][1:], "--json")
        first_output(switch)
        ranks = [job.at(node, *programs[node][1:]) for node in NODES]
        ended = [outcome(rank) for rank in ranks]
        stop(switch)
        for status, said in ended:
            expect(status == 0, said)
        expect(ended[0][1].count(" ok") == 2, ended[0][1])


def a_bridge_sums_in_user_space(binary):
    ranks_sum(binary, -2)


def a_bridge_sums_in_the_kernel(binary):
    ranks_sum(binary, -1)


if __name__ == "__main__":
    be_alone()
    sys.exit(run_all(a_bridge_sums_in_user_space, a_bridge_sums_in_the_kernel))
