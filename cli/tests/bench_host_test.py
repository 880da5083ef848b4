#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `infold bench host` on small tensors and checks that its parts add up to the rank's time.

Usage: bench_host_test.py INFOLD
If the machine has one core, or another measurement runs, the test ends with status 77 and the
reason.
"""

import json
import subprocess
import sys

from lab_testing import SECONDS, SKIPPED
from mistakes import check

NOT_HERE = ("needs two cores", "another measurement runs")
PARTS = ("encode", "packets", "memory", "copies", "calls", "cross", "rest")
WIRES = {"native": 4, "bfp32": 4, "bfp16": 2, "bfp8": 1}


def run(infold, *words):
    result = subprocess.run(
        [infold, "bench", "host", *words],
        check=False,
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )
    if any(text in result.stderr for text in NOT_HERE):
        print(result.stderr.strip().splitlines()[-1])
        sys.exit(SKIPPED)
    return result


def parts_add_up(infold):
    result = run(
        infold, "--bytes", "1MiB", "--rounds", "1", "--iterations", "3", "--rival", "none", "--json"
    )
    check(result.returncode == 0, f"status {result.returncode}:\n{result.stdout}{result.stderr}")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    check(
        [(row["shape"], row["impl"]) for row in rows]
        == [(shape, f"infold-{wire}") for shape in ("shared", "apart") for wire in WIRES],
        rows,
    )
    for row in rows:
        whole = row["cpu_s_per_gb"]
        parts = sum(row[f"{part}_s_per_gb"] for part in PARTS)
        check(abs(parts / whole - 1) < 1e-9, row)
        check(abs((row["cpu_user_s_per_gb"] + row["cpu_system_s_per_gb"]) / whole - 1) < 1e-6, row)
        check(row["encode_s_per_gb"] > 0 and row["calls_s_per_gb"] > 0, row)
        check(row["packets_sent_together"] >= 1 and row["packets_received_together"] >= 1, row)
    for shape in ("shared", "apart"):
        bounds = [row["bound_s_per_gb"] for row in rows if row["shape"] == shape]
        check(bounds[0] > bounds[2] > bounds[3] > 0, f"not by bytes on the wire: {bounds}")


def table_has_a_row_for_each(infold):
    result = run(
        infold,
        "--bytes",
        "1MiB",
        "--rounds",
        "1",
        "--iterations",
        "1",
        "--rival",
        "none",
        "--shape",
        "apart",
        "--format",
        "bfp8",
        "--mtu",
        "9000",
    )
    check(result.returncode == 0, f"status {result.returncode}:\n{result.stdout}{result.stderr}")
    check("apart: one rank and its switch" in result.stdout, result.stdout)
    row = result.stdout.strip().splitlines()[-1].split()
    check(row[0] == "infold-bfp8" and len(row) == 11, row)


def refuses(infold):
    result = run(infold, "--format", "bfp64")
    check(result.returncode == 2 and "there is no 'bfp64'" in result.stderr, result.stderr)


if __name__ == "__main__":
    parts_add_up(sys.argv[1])
    table_has_a_row_for_each(sys.argv[1])
    refuses(sys.argv[1])
    print("ok")
