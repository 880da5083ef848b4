#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `infold bench allreduce` with the options of nccl-tests and reads its table as programs do.
Also checks that infold's commands and the project's scripts read the same sizes and rates.

Usage: bench_allreduce_test.py INFOLD
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "network"), str(ROOT / "tools" / "lab")]
import quantity
from processes import Job, expect, free_port, outcome, run_each

SIZES = {
    "4096": 4096,
    "4096B": 4096,
    "25MB": 25_000_000,
    "25MiB": 25 << 20,
    "25Mi": 25 << 20,
    "25M": 25 << 20,
    "8m": 8 << 20,
    "1.5kb": 1500,
    "0.5K": 512,
    "1TB": 10**12,
    ".5KiB": 512,
    "1.KB": 1000,
}
NO_SIZES = (
    "",
    "MB",
    "1.5",
    "0.3B",
    "-1",
    "+1",
    "100Mbit",
    "1e6",
    "0x10",
    "1 MB",
    "1MBB",
    "nan",
    "99999999TB",
    "1_000",
    "\u0661MB",
)
RATES = {
    "10G": 10e9,
    "10gbit": 10e9,
    "2.5Gbit/s": 2.5e9,
    "100mbps": 100e6,
    "1T": 1e12,
    "1000000": 1e6,
}
NO_RATES = ("", "10GB", "10Gi", "-1G", "1e9", "inf", "10 G", "10GBps")


def ranks(infold, *words, world=2):
    """Returns (exit status, all output) for each rank."""
    with Job(infold) as job:
        port = free_port()
        return [
            outcome(each)
            for each in [
                job.start(
                    "bench",
                    "allreduce",
                    "--rendezvous",
                    f"127.0.0.1:{port}",
                    "--rank",
                    str(rank),
                    "--ranks",
                    str(world),
                    *words,
                )
                for rank in range(world)
            ]
        ]


def rows_of(said):
    """Returns the words of each line without #, which is how programs read nccl-tests' output."""
    return [line.split() for line in said.splitlines() if line and not line.startswith("#")]


def the_table_is_that_of_nccl_tests(infold):
    ends = ranks(
        infold,
        "-b",
        "8",
        "-e",
        "2K",
        "-f",
        "16",
        "-n",
        "5",
        "-w",
        "1",
        "-d",
        "float",
        "-o",
        "sum",
        "-c",
        "1",
        world=3,
    )
    expect(all(status == 0 for status, _ in ends), ends)
    rows = rows_of(ends[0][1])
    expect(
        [row[:5] for row in rows]
        == [[str(size), str(size // 4), "float", "sum", "-1"] for size in (8, 128, 2048)],
        rows,
    )
    for row in rows:
        expect(len(row) == 13 and row[8] == row[12] == "0", row)
    expect("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : " in ends[0][1], ends)
    expect(rows_of(ends[1][1]) == [], ends)


def json_has_both_halves_and_the_average(infold):
    ends = ranks(infold, "-b", "4K", "-n", "3", "-d", "double", "-o", "avg", "--json", world=4)
    expect(all(status == 0 for status, _ in ends), ends)
    apart, in_place, last = map(json.loads, ends[0][1].splitlines())
    expect((apart["in_place"], in_place["in_place"]) == (False, True), ends)
    for each in (apart, in_place):
        expect(each["dtype"] == "f64" and each["op"] == "avg" and each["check"] == "ok", each)
        algorithm = 4096 / each["mean_us"] / 1e3
        expect(abs(each["algbw_gb_per_s"] / algorithm - 1) < 1e-9, each)
        expect(abs(each["busbw_gb_per_s"] / (1.5 * algorithm) - 1) < 1e-9, each)
    mean = (apart["busbw_gb_per_s"] + in_place["busbw_gb_per_s"]) / 2
    expect(abs(last["average_busbw_gb_per_s"] / mean - 1) < 1e-9 and last["wrong"] == 0, last)


def every_reduction_is_checked(infold):
    for operation in ("sum", "avg", "min", "max"):
        for dtype in ("float", "double", "int32"):
            ends = ranks(
                infold,
                "-b",
                "4",
                "-e",
                "5000",
                "-f",
                "1024",
                "-n",
                "2",
                "-d",
                dtype,
                "-o",
                operation,
            )
            expect(all(status == 0 for status, _ in ends), (operation, dtype, ends))
            wrong = [row[8] + row[12] for row in rows_of(ends[0][1])]
            expect(wrong == ["00", "00"], (operation, dtype, ends))
    unchecked = rows_of(ranks(infold, "-b", "4", "-n", "2", "-c", "0")[0][1])
    expect(unchecked[0][8] == unchecked[0][12] == "N/A", unchecked)


def native_in_place_over_the_network(infold):
    """Packets leave directly from the memory that the results are written to."""
    for shape in (("-n", "3"), ("-n", "3", "--no-offload")):
        ends = ranks(
            infold,
            "--bytes",
            "4,300000,4M",
            "--format",
            "native",
            "--in-place",
            "--check",
            "--shared-memory",
            "off",
            "--mtu",
            "1500",
            *shape,
            world=3,
        )
        expect(all(status == 0 for status, _ in ends), ends)


def its_own_table_stays(infold):
    ends = ranks(infold, "--bytes", "4,4K", "--iterations", "5", "--check")
    expect(all(status == 0 for status, _ in ends), ends)
    rows = [line.split() for line in ends[0][1].splitlines()]
    expect(ends[0][1].startswith("path: ") and rows[1][0] == "size", ends)
    figures = [row[:2] + row[-2:] for row in rows[2:]]
    expect(figures == [["4B", "5", "native", "ok"], ["4KiB", "5", "native", "ok"]], ends)


def contradictions_are_refused(infold):
    for words, text in (
        (("--bytes", "4", "-b", "8"), "give --bytes or --minbytes, not both"),
        (("-b", "64", "-e", "8"), "--minbytes 64B is more than --maxbytes 8B"),
        (("-b", "4", "-e", "1G", "-i", "4"), "more than 10000 sizes"),
        (("-b", "4", "--layout", "rows"), "the sum has other rows"),
        (("-b", "4", "--in-place"), "measures both ways; drop --in-place"),
        (("-o", "min", "--format", "bfp8"), "packets carry minima and maxima unchanged"),
        (("-o", "prod"), "--op must be one of sum, avg, min, max, not 'prod'"),
        (("-d", "half"), "--dtype must be one of"),
        (("-c", "3"), "--check must be 0 or 1, not '3'"),
        (("-b", "3"), "--minbytes must be a size from 4B"),
    ):
        for status, said in ranks(infold, *words, world=1):
            expect(status == 2 and text in said, (words, status, said))


def planned(infold, option, text):
    """Returns the rate as infold plan reads it, or None if it refuses the text."""
    done = subprocess.run(
        [infold, "plan", "--json", f"{option}={text}"],
        check=False,
        text=True,
        capture_output=True,
        timeout=60,
    )
    return json.loads(done.stdout.splitlines()[0]) if done.returncode == 0 else None


def commands_and_scripts_read_the_same(infold):
    for read, option, key, good, bad in (
        (quantity.size, "--bytes", "bytes", SIZES, NO_SIZES),
        (quantity.rate, "--link", "link_bits_per_second", RATES, NO_RATES),
    ):
        for text, value in good.items():
            expect(read(text) == value, text)
            found = planned(infold, option, text)
            expect(found is not None and found[key] == value, (text, found))
        for text in bad:
            expect(planned(infold, option, text) is None, text)
            try:
                expect(False, (text, read(text)))
            except ValueError:
                pass


if __name__ == "__main__":
    sys.exit(
        run_each(
            the_table_is_that_of_nccl_tests,
            json_has_both_halves_and_the_average,
            every_reduction_is_checked,
            its_own_table_stays,
            native_in_place_over_the_network,
            contradictions_are_refused,
            commands_and_scripts_read_the_same,
        )
    )
