#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watches every link of a lab while hosts and workers share a job's sums, and compares the bytes of
each link with a formula.

With W workers, k hosts and equal links, BytePS (OSDI 2020) gives a host 2 (W - 1) / D of the sums
and a worker (W - k) / D, where D = W^2 + k W - 2 k. Each link then carries 2 W (W - 1) / D tensors
in each direction, the hosts' links like the workers'. Contributions and results count once.
Retransmits, which a busy machine causes, count apart.

Usage: shares_test.py INFOLD [WORKERS,HOSTS ...]
Needs root. Without a lab it ends with status 77 and the reason.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

from processes import PATIENCE, Job, expect, outcome, run_each

LAB = pathlib.Path(__file__).resolve().parents[2] / "tools" / "lab" / "lab.py"
NAME = f"infold-shares-{os.getpid()}"
SKIPPED = 77
# Workers alone (k = 0), three mixtures, and hosts alone (k = W).
CASES = ((3, 0), (2, 1), (4, 1), (4, 3), (3, 3))
TENSOR = 2_000_000
SUMS = 4  # the first of them is a warm-up
TOLERANCE = 0.02
# Runs at the switch and prints the bytes of contributions and results that pass each of its ports,
# without and with repeats, until its input ends. A packet is new if no earlier packet from the same
# socket to the same socket had its kind, worker, job, slot, epoch and round.
WATCH = r"""
import json, select, socket, sys
watch = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
watch.setsockopt(socket.SOL_SOCKET, 33, 512 << 20)  # SO_RCVBUFFORCE
print("ready", flush=True)
seen, once, every = set(), {}, {}
head = bytearray(64)
watch.settimeout(0.05)
while True:
    try:
        size, where = watch.recvfrom_into(head, 64, socket.MSG_TRUNC)
    except TimeoutError:
        if select.select([sys.stdin], [], [], 0)[0]:
            break
        continue
    # IPv4 without options, UDP, infold's magic byte; contributions and results.
    if where[0] == "br0" or head[12:15] != b"\x08\x00\x45" or head[23] != 17 or head[42] != 0xF1:
        continue
    if head[43] & 15 not in (1, 8):
        continue
    link = where[0] + (" down" if where[2] == socket.PACKET_OUTGOING else " up")
    key = link.encode() + head[26:38] + head[42:58]
    every[link] = every.get(link, 0) + size
    if key not in seen:
        seen.add(key)
        once[link] = once.get(link, 0) + size
dropped = int.from_bytes(watch.getsockopt(263, 6, 8)[4:], sys.byteorder)  # PACKET_STATISTICS
print(json.dumps({"once": once, "every": every, "missed": dropped}))
"""


class Unavailable(Exception):
    pass


def lab(*words):
    result = subprocess.run(
        [sys.executable, str(LAB), words[0], "--name", NAME, *words[1:]],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if any(
        text in result.stderr
        for text in ("the kernel refuses", "is missing: apt-get", "that needs root")
    ):
        raise Unavailable(result.stderr.strip().splitlines()[0])
    expect(result.returncode == 0, result.stdout + result.stderr)
    return result.stdout


def planned(binary, workers, hosts):
    """Returns (bytes of a tensor on a link, a host's weight, a worker's weight) of `infold
    plan`."""
    sites = ["--place", "host:1G"] * hosts + ["--place", "switch"]
    out = subprocess.run(
        [
            binary,
            "plan",
            "--ranks",
            str(workers),
            "--link",
            "1G",
            *sites,
            "--bytes",
            f"{TENSOR}B",
            "--frame-bytes",
            "14",
            "--json",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rows = [json.loads(line) for line in out.splitlines()]
    passage = next(row["busiest_link_bytes"] for row in rows if row.get("kind") == "switch")
    if hosts == 0:
        return passage, 0, 1
    if hosts == workers:
        return passage, 1, 0
    sites = next(row["sites"] for row in rows if row.get("kind") == "mixed")
    weights = {site["site"].split()[0]: site["weight"] for site in sites}
    return passage, weights["host:1G"], weights["worker"]


class Network(Job):
    """Processes on the lab's hosts."""

    def __init__(self, binary):
        super().__init__("ip")
        self.infold = binary

    def at(self, node, *words):
        return self.start("netns", "exec", f"{NAME}-{node}", *words)


@contextlib.contextmanager
def watching(job, found):
    watch = job.at("switch", sys.executable, "-c", WATCH)
    expect(watch.stdout.readline() == "ready\n", "nobody watches")
    yield
    found |= json.loads(watch.communicate("done\n", timeout=PATIENCE)[0])
    expect(found["missed"] == 0, f"{found['missed']} packets passed unseen")


def sum_up(job, workers, hosts, weights):
    """Runs the job, and checks its sums."""
    switches = [f"10.77.0.{host + 1}:7700" for host in range(workers, workers + hosts)]
    for host, address in enumerate(switches, workers):
        switch = job.at(host, job.infold, "switch", "--insecure", "--listen", address)
        expect("packets at" in switch.stdout.readline(), "a switch does not start")
    place = ("--rendezvous", "10.77.0.1:7701", "--place", "workers")
    if switches:
        place = (
            "--switch",
            ",".join(switches),
            "--place",
            "switches",
        )
    if switches and weights[1]:
        both = ("--switch-weight", str(weights[0]), "--worker-weight", str(weights[1]))
        place = (*place[:-1], "mixed", *both)
    ranks = [
        job.at(
            rank,
            job.infold,
            "bench",
            "allreduce",
            *place,
            "--rank",
            str(rank),
            "--ranks",
            str(workers),
            "--bytes",
            str(TENSOR),
            "--iterations",
            str(SUMS - 1),
            "--check",
        )
        for rank in range(workers)
    ]
    for status, said in [outcome(rank) for rank in ranks]:
        expect(status == 0, said)


def every_link_carries_its_share(binary, workers, hosts):
    passage, *weights = planned(binary, workers, hosts)
    seen = {}
    with Network(binary) as job, watching(job, seen):
        sum_up(job, workers, hosts, weights)
    formula = 2 * workers * (workers - 1) / (workers**2 + hosts * workers - 2 * hosts)
    tensors = {
        way: sorted(bytes_ / SUMS / passage / formula for bytes_ in seen[way].values())
        for way in ("once", "every")
    }
    print(
        f"{workers} workers, {hosts} hosts, weights {weights[0]} and {weights[1]}: {formula:.3f} "
        f"tensors on each link; of that {tensors['once'][0]:.4f} to {tensors['once'][-1]:.4f}, "
        f"with repeats {tensors['every'][0]:.4f} to {tensors['every'][-1]:.4f}"
    )
    expect(len(tensors["once"]) == 2 * (workers + hosts), f"links are missing: {seen}")
    expect(all(abs(share - 1) < TOLERANCE for share in tensors["once"]), seen)


def shares_are_those_of_the_formula(binary):
    cases = [tuple(map(int, word.split(","))) for word in sys.argv[2:]] or CASES
    lab("up", "--ranks", str(max(workers + hosts for workers, hosts in cases)), "--link", "200mbit")
    try:
        for workers, hosts in cases:
            every_link_carries_its_share(binary, workers, hosts)
    finally:
        lab("down")


if __name__ == "__main__":
    try:
        sys.exit(run_each(shares_are_those_of_the_formula))
    except Unavailable as reason:
        print(reason)
        sys.exit(SKIPPED)
