#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `infold bench compare` on small tensors, on one host and in a lab. Then it presses Ctrl-C
and checks that nothing of the lab is left.

Usage: compare_test.py INFOLD
The lab needs root. Without root or a lab, the test ends with status 77 and the reason.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from lab_testing import NO_LAB, SECONDS, SKIPPED, namespaces
from mistakes import check

# Rivals are left out, so that the test runs where their libraries are not installed.
COMPARE = (
    "bench",
    "compare",
    "--ranks",
    "2,3",
    "--link",
    "100mbit",
    "--bytes",
    "4,65536",
    "--infold",
    "bfp32,workers-bfp32",
    "--rivals",
    "none",
    "--rounds",
    "2",
    "--iterations",
)


def run(words):
    return subprocess.run(words, check=False, text=True, capture_output=True, timeout=SECONDS)


def measures(infold, out):
    result = run([infold, *COMPARE, "20", "--out", out])
    if any(text in result.stderr for text in NO_LAB):
        print(result.stderr.strip().splitlines()[-1])
        sys.exit(SKIPPED)
    check(result.returncode == 0, f"status {result.returncode}:\n{result.stdout}{result.stderr}")
    results = json.loads((pathlib.Path(out) / "results.json").read_text(encoding="utf-8"))
    check(results["complete"] and len(results["samples"]) == 16, results)
    check(all(s["check"] == "ok" and s["rounds"] == 2 for s in results["summaries"]), results)
    for name in ("table.txt", "time-2-ranks.svg", "time-3-ranks.svg", "goodput.svg"):
        check((pathlib.Path(out) / name).stat().st_size > 300, f"{name} is empty")
    check(not namespaces(), f"left behind: {namespaces()}")


def keeps_ranks_apart(infold, out):
    """Two ranks of one host get a processor each. More ranks than processors are refused."""
    words = [
        infold,
        "bench",
        "compare",
        "--one-host",
        "--apart",
        "--bytes",
        "4096",
        "--infold",
        "native",
        "--rounds",
        "1",
        "--iterations",
        "5",
        "--out",
        out,
    ]
    result = run([*words, "--ranks", "64", "--rivals", "none"])
    processors = len(os.sched_getaffinity(0))
    if processors < 64:
        check(result.returncode == 1 and f"may use {processors}" in result.stderr, result.stderr)
    result = run([*words, "--ranks", "2", "--rivals", "openmpi"])
    check(result.returncode == 2 and "name other rivals" in result.stderr, result.stderr)
    if processors < 2:
        return
    result = run([*words, "--ranks", "2", "--rivals", "none"])
    check(result.returncode == 0, f"status {result.returncode}:\n{result.stdout}{result.stderr}")
    check("a processor for each process" in result.stdout, result.stdout)


def measures_on_one_host(infold, out):
    """Ranks of one host sum in its memory, so they need neither namespaces nor packets."""
    result = run(
        [
            infold,
            "bench",
            "compare",
            "--one-host",
            "--ranks",
            "2,3",
            "--bytes",
            "4,65536",
            "--infold",
            "bfp32",
            "--rivals",
            "none",
            "--rounds",
            "1",
            "--iterations",
            "20",
            "--out",
            out,
        ]
    )
    check(result.returncode == 0, f"status {result.returncode}:\n{result.stdout}{result.stderr}")
    check("3 ranks, all on one host" in result.stdout, result.stdout)
    results = json.loads((pathlib.Path(out) / "results.json").read_text(encoding="utf-8"))
    check(results["complete"] and len(results["samples"]) == 4, results)
    for sample in results["samples"]:
        measured = sample["measured"]
        check(measured["check"] == "ok", sample)
        check(measured["ranks_in_memory"] == sample["world"], sample)
        check(measured["contributions_on_network"] == 0, sample)


def measures_as_another_user(infold, out):
    """The lock of root's measurement does not keep other users from measuring later."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    pathlib.Path(out).chmod(0o755)
    tree = pathlib.Path(out) / "tree"
    (tree / "tools" / "lab").mkdir(parents=True)
    (tree / "tools" / "lab" / "lab.py").touch()
    (tree / "theirs").mkdir()
    (tree / "theirs").chmod(0o777)
    shutil.copy(infold, tree / "infold")
    result = run(
        [
            *nobody,
            tree / "infold",
            "bench",
            "compare",
            "--one-host",
            "--ranks",
            "2",
            "--bytes",
            "4",
            "--infold",
            "bfp32",
            "--rivals",
            "none",
            "--rounds",
            "1",
            "--iterations",
            "2",
            "--out",
            tree / "theirs",
        ]
    )
    check(result.returncode == 0, f"status {result.returncode}:\n{result.stdout}{result.stderr}")


def stops(infold, out):
    process = subprocess.Popen(
        [infold, *COMPARE, "2000", "--out", out],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        first = process.stderr.readline()
        check("4 B" in first or "busy" in first, f"unexpected progress: {first}")
        check(namespaces() or "busy" in first, "no lab while it measures")
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=SECONDS)[1]
    finally:
        process.kill()
    check(process.returncode == 1, f"status {process.returncode} after Ctrl-C")
    check("stopped on request" in text, text)
    check(not namespaces(), f"left behind: {namespaces()}")
    results = json.loads((pathlib.Path(out) / "results.json").read_text(encoding="utf-8"))
    check(not results["complete"], "a stopped comparison says that it is complete")


def main():
    infold = str(pathlib.Path(sys.argv[1]).resolve())
    refused = subprocess.run(
        [infold, "bench", "compare", "--rivals", "nobody"],
        check=False,
        capture_output=True,
        text=True,
    )
    check(refused.returncode == 2 and "gloo-ring" in refused.stderr, refused.stderr)
    refused = subprocess.run(
        [infold, "bench", "compare", "--one-host", "--mtu", "9000"],
        check=False,
        capture_output=True,
        text=True,
    )
    check(refused.returncode == 2 and "has no links" in refused.stderr, refused.stderr)
    with tempfile.TemporaryDirectory() as out:
        keeps_ranks_apart(infold, out)
        measures_on_one_host(infold, out)
        if os.geteuid() != 0:
            print("needs root to make network namespaces")
            sys.exit(SKIPPED)
        measures_as_another_user(infold, out)
        measures(infold, out)
        stops(infold, out)


if __name__ == "__main__":
    main()
