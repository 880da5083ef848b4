#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures processors, then runs `infold plan --verify` on small sums. Presses Ctrl-C during each
of the two, and checks that the plan says so and that nothing of the lab is left.

Usage: plan_verify_test.py INFOLD
A lab needs root. Without one, the test ends with status 77 and the reason.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from lab_testing import NO_LAB, SECONDS, SKIPPED, namespaces
from mistakes import check

PLAN = (
    "plan",
    "--verify",
    "--processors",
    "any",
    "--ranks",
    "3",
    "--place",
    "switch",
    "--place",
    "host:100M",
    "--place",
    "host:100M",
)
SLOW = (*PLAN, "--link", "50M")


def measures_processors(infold):
    """Measures over loopback, without root. A plan made from the saved file must give the same
    times."""
    shared = ("--link", "none", "--place", "switch", "--shared-processors", "2", "--json")
    with tempfile.TemporaryDirectory() as folder:
        costs = str(pathlib.Path(folder) / "node.costs")
        said = []
        for words in (("measure", "--save-processors", costs), (costs,)):
            result = subprocess.run(
                [infold, "plan", "--processors", *words, *shared],
                check=False,
                text=True,
                capture_output=True,
                timeout=SECONDS,
            )
            check(result.returncode == 0, f"{words}: {result.returncode}: {result.stderr}")
            said.append([json.loads(line) for line in result.stdout.splitlines()])
        names = [line.split(" = ")[0] for line in pathlib.Path(costs).read_text().splitlines()[1:]]
    measured = said[0][0]
    check(len(names) == 7 and all(name in measured for name in names), f"{names}: {measured}")
    # No processor handles a chunk in less than 10 ns, or needs a millisecond for it.
    for party in ("rank", "site"):
        chunk_ns = measured[f"{party}_packet_ns"] + 352 * measured[f"{party}_element_ns"]
        check(10 < chunk_ns < 1e6, measured)
    times = [[line.get("time_ms", 0) for line in lines] for lines in (said[0][1:], said[1])]
    check(
        all(abs(first - second) <= 0.01 * first for first, second in zip(*times, strict=True)),
        times,
    )


def refuses(infold):
    """Asks for rates that no machine can shape, and for options that contradict each other."""
    for words, status, text in (
        (("--link", "100G"), 1, "a machine shapes links of up to 1 Gbit/s"),
        (("--link", "50M", "--dtype", "f16"), 2, "sums f32, f64 and i32"),
        (("--link", "50M", "--frame-bytes", "38"), 2, "drop --frame-bytes"),
    ):
        result = subprocess.run(
            [infold, *PLAN, *words], check=False, text=True, capture_output=True, timeout=SECONDS
        )
        check(
            result.returncode == status and text in result.stderr and not result.stdout,
            f"{words}: status {result.returncode}: {result.stdout}{result.stderr}",
        )


def measures(infold):
    result = subprocess.run(
        [infold, *SLOW, "--bytes", "200KB", "--json"],
        check=False,
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )
    if any(text in result.stderr for text in NO_LAB):
        print(result.stderr.strip().splitlines()[-1])
        sys.exit(SKIPPED)
    check(result.returncode == 0, f"status {result.returncode}:\n{result.stdout}{result.stderr}")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    placements = {k["placement"]: k for k in lines if "placement" in k}
    wanted = {"switch", "host:100M", "2 x host:100M", "workers", "ring"}
    check(wanted <= set(placements), sorted(placements))
    for name, each in placements.items():
        if name == "ring":
            check("not_measured" in each or each["measured_ms"] > 0, each)
            continue
        # Links cannot be faster than their rate, but a busy machine may make them slower.
        check(0.8 < each["measured_over_predicted"] < 20, each)
    check(any(s.startswith("Measured: ") for s in lines[-1]["advice"]), lines[-1])
    check(not namespaces(), f"left behind: {namespaces()}")


def interrupt(command, progress, check_meanwhile=lambda: None):
    """Sends Ctrl-C once the command has said what it does. It must end without a prediction."""
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        first = process.stderr.readline()
        check(progress in first, f"unexpected progress: {first}")
        check_meanwhile()
        process.send_signal(signal.SIGINT)
        out, text = process.communicate(timeout=SECONDS)
    finally:
        process.kill()
    check(process.returncode == 1, f"status {process.returncode} after Ctrl-C")
    check("stopped on request" in text and not out, out + text)


def stops_measuring_processors(infold):
    """Needs no root. No prediction is printed from half of the costs."""
    interrupt([infold, "plan", "--processors", "measure"], "measuring processors")


def stops(infold):
    interrupt(
        [infold, *SLOW, "--bytes", "20MB"],
        "measuring",
        lambda: check(namespaces(), "no lab while it measures"),
    )
    check(not namespaces(), f"left behind: {namespaces()}")


def main():
    infold = str(pathlib.Path(sys.argv[1]).resolve())
    measures_processors(infold)
    stops_measuring_processors(infold)
    if os.geteuid() != 0:
        result = subprocess.run([infold, *PLAN], check=False, text=True, capture_output=True)
        check(result.returncode == 1 and "needs root" in result.stderr, result.stderr)
        print("needs root to make network namespaces")
        sys.exit(SKIPPED)
    refuses(infold)
    measures(infold)
    stops(infold)


if __name__ == "__main__":
    main()
