#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs three C++ processes that fit a line together through a switch (examples/cpp_api/train.cc).
Takes a few seconds and needs no root."""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

BUILD = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "release"
WORLD = 3


def parse():
    parser = argparse.ArgumentParser(prog="./dev example cpp_api", description=__doc__)
    parser.add_argument("--out", default="example-cpp-api.png", help="the picture")
    return parser.parse_args()


def train(switch):
    """Returns rank 0's lines: step, loss, slope, offset."""
    variables = os.environ | {"INFOLD_SWITCHES": switch, "WORLD_SIZE": str(WORLD)}
    ranks = [
        subprocess.Popen(
            [BUILD / "examples" / "infold_example_cpp"],
            text=True,
            stdout=subprocess.PIPE,
            env=variables | {"RANK": str(rank)},
        )
        for rank in range(WORLD)
    ]
    lines = [line.split() for line in ranks[0].stdout]
    if any([rank.wait() != 0 for rank in ranks]):
        sys.exit("a rank failed; its output is above")
    return [
        (int(step), float(loss), float(slope), float(offset)) for step, loss, slope, offset in lines
    ]


def main():
    options = parse()
    import pictures  # --help works without matplotlib

    with subprocess.Popen(
        [BUILD / "infold", "switch", "--listen", "127.0.0.1:0", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    ) as switch:
        try:
            address = json.loads(switch.stdout.readline())["join"]
            print(f"a switch at {address}, and {WORLD} ranks with 500 points each:")
            lines = train(address)
        finally:
            switch.send_signal(signal.SIGTERM)
    for step, loss, slope, offset in lines[::10] + lines[-1:]:
        print(f"  step {step:2}: loss {loss:.4f}, y = {slope:.3f} x {offset:+.3f}")
    pictures.draw_curve(
        options.out,
        "Three ranks fit y = 3 x - 1 through a switch",
        [line[0] for line in lines],
        [line[1] for line in lines],
        "step",
        "loss",
    )


if __name__ == "__main__":
    main()
