#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures sums over two racks of four ranks, with all links at the same rate: the time of a sum
and the bytes on an uplink. In one case each rack has a switch below the parent; in the other, all
ranks join the parent. The cases alternate, and figures are medians.

Usage: measure.py INFOLD [BYTES [ROUNDS]]
Needs root.
"""

import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "network"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "lab"))
import quantity
from processes import expect
from racks_network import PARENT, RACKS, racks, ranks_of, switch_of
from xdp_network import Network, at, be_alone

PER_RACK = 4
RATE = "100mbit"


def carried():
    """Returns the bytes that have passed the first uplink: up, down."""
    link = json.loads(at("a", "ip", "-j", "-s", "link", "show", "dev", "up0"))[0]["stats64"]
    return link["tx"]["bytes"], link["rx"]["bytes"]


def measure(job, switches, size, *words):
    """Returns the seconds of one sum at rank 0, and the bytes up and down for each sum."""
    nodes = list(zip((node for node, _ in ranks_of(PER_RACK)), switches, strict=False))
    before = carried()
    ranks = [
        job.at(
            node,
            "bench",
            "allreduce",
            "--switch",
            switch,
            "--rank",
            str(rank),
            "--ranks",
            str(len(nodes)),
            "--bytes",
            str(size),
            "--iterations",
            "3",
            "--deadline",
            "60",
            "--json",
            *words,
        )
        for rank, (node, switch) in enumerate(nodes)
    ]
    said = [rank.communicate(timeout=300) for rank in ranks]
    expect(all(rank.returncode == 0 for rank in ranks), said)
    result = json.loads(said[0][0].splitlines()[-1])
    sums = result["iterations"] + 1  # one sum warms up
    return (
        result["median_ms"] / 1e3,
        *((after - was) / sums for was, after in zip(before, carried(), strict=False)),
    )


def main():
    size = quantity.size(sys.argv[2]) if len(sys.argv) > 2 else 4_000_000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with racks(PER_RACK, rate=RATE), Network(sys.argv[1]) as job:
        for node, words in (
            ("parent", (PARENT,)),
            *((rack, (switch_of(rack), "--parent", PARENT)) for rack in RACKS),
        ):
            switch = job.at(node, "switch", "--insecure", "--listen", *words, "--json")
            expect("listening" in switch.stdout.readline(), "a switch does not start")
        below = [switch for _, switch in ranks_of(PER_RACK)]
        flat = [PARENT] * len(below)
        print(f"{size} bytes, {RATE}, {rounds} rounds: median (least to most)")
        for words in (("--format", "bfp32"), ("--format", "bfp16"), ("--dtype", "i32")):
            taken = {"racks": [], "flat": []}
            for _ in range(rounds):
                for name, switches in (("racks", below), ("flat", flat)):
                    taken[name].append(measure(job, switches, size, *words))
            for name, figures in taken.items():
                seconds, up, down = ([each[i] for each in figures] for i in range(3))
                print(
                    f"{words[1]:<6} {name:<6} {statistics.median(seconds):.3f} s "
                    f"({min(seconds):.3f} to {max(seconds):.3f}), uplink "
                    f"{statistics.median(up) / 1e6:.2f} MB up, "
                    f"{statistics.median(down) / 1e6:.2f} MB down",
                    flush=True,
                )


if __name__ == "__main__":
    be_alone()
    main()
