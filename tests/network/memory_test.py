#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a switch's memory with the bound that it states at its start, while jobs come, go and
are killed.

Usage: memory_test.py INFOLD
"""

import json
import sys
import time

from processes import PATIENCE, Job, expect, free_port, kill_all, outcome, run_each, wait_for_sums

# Two jobs of two ranks each run at a time. A job takes 512 slots as long as a quarter of all slots
# stay free.
SLOTS = 1536
CYCLES = 12
# The sizes of packets change from job to job. They decide the length of a slot's arrays.
PACKETS = (9000, 1500, 4000, 9000, 2000, 8000, 576)
# The memory that is not for slots is for threads, connections and messages of jobs that join. It
# was 5 MB at most.
BESIDE_SLOTS = 16 << 20
# The switch takes memory when packets first use it. Sums of bfp32 use half of a slot's room for
# sums, and native sums of two ranks use less. Two jobs have two thirds of the slots. They use a
# seventh of the stated bytes.
FILLED = 10


def memory_of(process):
    """Returns (resident now, maximum so far) in bytes."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as lines:
        words = dict(line.split(":", 1) for line in lines)
    return tuple(int(words[key].split()[0]) * 1024 for key in ("VmRSS", "VmHWM"))


def start_two_jobs(job, port, cycle, iterations):
    """Returns the ranks of each job. Every job has enough chunks to touch all its slots."""
    return [
        [
            job.start(
                "bench",
                "allreduce",
                "--switch",
                f"127.0.0.1:{port}",
                "--shared-memory",
                "off",
                "--job",
                f"{cycle}-{which}",
                "--rank",
                str(rank),
                "--ranks",
                "2",
                "--format",
                "bfp32",
                "--bytes",
                "64,8000000",
                "--iterations",
                str(iterations),
                "--mtu",
                str(PACKETS[(2 * cycle + which) % len(PACKETS)]),
            )
            for rank in range(2)
        ]
        for which in range(2)
    ]


def run_two_jobs(job, port, cycle):
    """Repeats two jobs until both succeed. Earlier jobs leave soon after their processes end."""
    until = time.monotonic() + PATIENCE
    while True:
        ends = [outcome(rank) for ranks in start_two_jobs(job, port, cycle, 1) for rank in ranks]
        if all(status == 0 for status, _ in ends):
            return
        expect(any("slots left" in said for _, said in ends), ends)
        expect(time.monotonic() < until, ends)


def kill_two_jobs(job, port, cycle):
    for ranks in start_two_jobs(job, port, cycle, 300):
        wait_for_sums(ranks[0])
        kill_all(ranks)


def what_it_states_bounds_what_it_takes(binary):
    with Job(binary) as job:
        port = free_port()
        switch = job.start(
            "switch", "--listen", f"127.0.0.1:{port}", "--slots", str(SLOTS), "--json"
        )
        bounds = json.loads(switch.stdout.readline())
        stated = bounds["memory_bytes_max"] - bounds["bins_bytes_max"]  # these jobs need no bins
        before, _ = memory_of(switch)
        for cycle in range(CYCLES):
            if cycle % 3 == 2:
                kill_two_jobs(job, port, cycle)
            run_two_jobs(job, port, cycle)
        until = time.monotonic() + PATIENCE
        while memory_of(switch)[0] > before + BESIDE_SLOTS and time.monotonic() < until:
            time.sleep(0.05)
        after, most = memory_of(switch)
        shown = (
            f"{before / 1e6:.0f} MB at the start, {most / 1e6:.0f} at most, {after / 1e6:.0f} "
            f"at the end; {stated / 1e6:.0f} stated for slots"
        )
        print(shown)
        expect(most <= before + stated + BESIDE_SLOTS, f"more than it stated: {shown}")
        expect(most >= before + stated / FILLED, f"the jobs did not fill it: {shown}")
        expect(after <= before + BESIDE_SLOTS, f"not given back: {shown}")


if __name__ == "__main__":
    sys.exit(run_each(what_it_states_bounds_what_it_takes))
