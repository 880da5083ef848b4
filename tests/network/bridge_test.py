#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the recipe of docs/switches/hardware.md as it is written there: a bridge, a switch at its
address and then in the kernel, and two ranks. Each host of the page is a network namespace.

Usage: bridge_test.py INFOLD
"""

import collections
import contextlib
import pathlib
import re
import shlex
import subprocess
import sys

from processes import Job, expect, outcome
from xdp_network import LACKS, NAME, SKIPPED, be_alone, run

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "switches" / "hardware.md"
HOSTS = ("sum", "node1", "node2")


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
    names = {host: f"{NAME}-{host}" for host in HOSTS}
    try:
        for name in names.values():
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        for number in (1, 2):
            link = f"link add eth{number} type veth peer name eth0 netns {names[f'node{number}']}"
            run("ip", "-n", names["sum"], *link.split())
            # A veth leaves checksums to a card that is not there (docs/switches/kernel.md).
            inside = ("ip", "netns", "exec", names[f"node{number}"])
            run(*inside, "ethtool", "-K", "eth0", "tx", "off")
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


class Network(Job):
    """Processes of the page's hosts."""

    def __init__(self, binary, names):
        super().__init__("ip")
        self.infold = binary
        self.names = names

    def start_at(self, host, words):
        expect(words[0] == "infold", f"{host} runs {words[0]}")
        return self.start("netns", "exec", self.names[host], self.infold, *words[1:])

    def set_up(self, host, commands):
        """Runs the commands that end at once."""
        for words in commands:
            run("ip", "netns", "exec", self.names[host], *words)

    def sum_at(self, switch, ranks):
        """Runs the ranks while the switch runs. Returns why this machine cannot, or an empty
        text."""
        started = self.start_at("sum", switch)
        if "packets at" not in started.stdout.readline():
            said = started.stderr.read()
            expect(any(lack in said for lack in LACKS), said)
            return said.strip()
        running = [self.start_at(host, words) for host, words in ranks]
        ended = [outcome(process) for process in running]
        started.terminate()
        started.communicate()
        for status, said in ended:
            expect(status == 0, said)
        expect(ended[0][1].count(" ok") == 2, ended[0][1])
        return ""


def main():
    be_alone()
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    commands = commands_of(PAGE.read_text("utf-8"))
    *bridge, switch, kernel = commands["sum"]
    nodes = [host for host in HOSTS if host != "sum"]
    ranks = [(host, commands[host][-1]) for host in nodes]
    with hosts() as names, Network(binary, names) as network:
        network.set_up("sum", bridge)
        for host in nodes:
            network.set_up(host, commands[host][:-1])
        lack = network.sum_at(switch, ranks)
        expect(not lack, lack)
        if lack := network.sum_at(kernel, ranks):
            print(f"the switch in user space sums; that in the kernel cannot: {lack}")
            sys.exit(SKIPPED)
    print("ok")


if __name__ == "__main__":
    main()
