#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the predictions of `infold plan` with measurements, for docs/benchmarks/plan.md.

Usage: predictions.py INFOLD [--rounds N] [--only WORD] [--quiet-load L]
Measures the processors of this machine once. Then it runs `infold plan --verify` for each question
in turn, N times, and prints the medians. --only keeps the questions whose name contains the word.
Before each run it waits until the load is at most L. Needs root.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

LIMIT = 0.15  # how far a measured time may be from its prediction, as a share of the prediction
QUIET_S = 600  # longest wait for a quiet machine

LINKS = ("--link", "100M", "--place", "switch", "--place", "host:100M", "--place", "workers")
FAST_HOST = ("--link", "100M", "--place", "host:1G")
UNSHAPED = ("--link", "none", "--bytes", "25MiB", "--place", "switch")

QUESTIONS = {
    **{
        f"100 Mbit/s, {workers} ranks, {size}": ("--ranks", workers, "--bytes", size, *LINKS)
        for workers in ("4", "8")
        for size in ("4MB", "25MB")
    },
    "host of 1 Gbit/s, 4 ranks, 4MB": ("--ranks", "4", "--bytes", "4MB", *FAST_HOST),
    **{
        f"unshaped, 4 ranks, {wire}": ("--ranks", "4", "--format", wire, *UNSHAPED)
        for wire in ("bfp32", "bfp16", "bfp8")
    },
    "unshaped, 2 ranks, bfp32": ("--ranks", "2", "--format", "bfp32", *UNSHAPED),
}


def run(*words):
    """Returns the JSON objects that a command printed."""
    done = subprocess.run(words, check=False, text=True, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def wait_until_quiet(load):
    end = time.monotonic() + QUIET_S
    while os.getloadavg()[0] > load and time.monotonic() < end:
        time.sleep(5)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("infold", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--quiet-load", type=float, default=0.7)
    options = parser.parse_args()
    infold = str(options.infold.resolve())
    asked = {name: words for name, words in QUESTIONS.items() if options.only in name}

    predicted = {}
    measured = collections.defaultdict(list)
    with tempfile.NamedTemporaryFile(suffix=".costs") as costs:
        wait_until_quiet(options.quiet_load)
        run(infold, "plan", "--processors", "measure", "--save-processors", costs.name, "--json")
        print(pathlib.Path(costs.name).read_text(encoding="utf-8"), flush=True)
        for _ in range(options.rounds):
            for name, words in asked.items():
                wait_until_quiet(options.quiet_load)
                for each in run(
                    infold, "plan", "--verify", "--processors", costs.name, *words, "--json"
                ):
                    if "measured_ms" not in each:
                        continue
                    key = (name, each["placement"], each["limit"])
                    predicted[key] = each["time_ms"]
                    measured[key].append(each["measured_ms"])

    print("| question | placement | limit | predicted | measured (least to most) | ratio | |")
    print("|---|---|---|---|---|---|---|")
    for (name, placement, limit), times in measured.items():
        wanted = predicted[name, placement, limit]
        ratio = statistics.median(times) / wanted
        print(
            f"| {name} | {placement} | {limit} | {wanted:.4g} ms | "
            f"{statistics.median(times):.4g} ms ({min(times):.4g} to {max(times):.4g}) | "
            f"{ratio:.2f} | {'' if abs(ratio - 1) <= LIMIT else 'missed'} |"
        )


if __name__ == "__main__":
    main()
