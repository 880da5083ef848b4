#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills processes of running jobs, and starts jobs that cannot be: every rank must say why, soon.

Usage: kill_test.py INFOLD
"""

import signal
import subprocess
import sys
import time

from processes import PATIENCE, Job, free_port, outcome, wait_for_sums

WORLD = 3
# A first size that ends soon, then one that outlasts the test.
SHORT_THEN_LONG = ("--bytes", "64,1000000", "--iterations", "3000")


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def start_job(job, place, words=SHORT_THEN_LONG):
    ranks = [job.start_rank(rank, WORLD, *place, *words) for rank in range(WORLD)]
    wait_for_sums(ranks[0])
    return ranks


def expect_all_say(ranks, text):
    for process in ranks:
        status, said = outcome(process)
        expect(status == 1, f"a rank ended with {status}: {said}")
        expect(text in said, f"a rank did not say '{text}' but: {said}")


def a_rank_is_killed(binary):
    """The others name it, with a switch and without one."""
    for sites in ("switches", "workers"):
        with Job(binary) as job:
            port = free_port()
            place = ("--rendezvous", f"127.0.0.1:{port}", "--sites", "workers")
            if sites == "switches":
                job.start_switch(port)
                place = ("--switch", f"127.0.0.1:{port}")
            ranks = start_job(job, place)
            ranks[1].send_signal(signal.SIGKILL)
            expect_all_say([ranks[0], ranks[2]], "rank 1 is gone")


def a_rank_stalls(binary):
    """Its process lives, so that only the deadline tells."""
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port)
        place = ("--switch", f"127.0.0.1:{port}", "--deadline", "2")
        ranks = start_job(job, place)
        ranks[2].send_signal(signal.SIGSTOP)
        expect_all_say(ranks[:2], "rank 2")
        ranks[2].send_signal(signal.SIGCONT)


def the_switch_is_killed(binary):
    for ending in (signal.SIGKILL, signal.SIGTERM):
        with Job(binary) as job:
            port = free_port()
            switch = job.start_switch(port)
            ranks = start_job(job, ("--switch", f"127.0.0.1:{port}"))
            switch.send_signal(ending)
            expect_all_say(ranks, f"aggregator 0 at 127.0.0.1:{port} has stopped or cannot be")


def a_switch_serves_again_after_a_job_died(binary):
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port)
        place = ("--switch", f"127.0.0.1:{port}")
        ranks = start_job(job, place)
        for process in ranks:
            process.send_signal(signal.SIGKILL)
        for process in ranks:
            process.wait(PATIENCE)
        # The name is free as soon as the switch has noticed.
        until = time.monotonic() + PATIENCE
        while True:
            again = [job.start_rank(rank, WORLD, *place, "--bytes", "4096", "--check")
                     for rank in range(WORLD)]
            ends = [outcome(process) for process in again]
            if all(status == 0 for status, _ in ends):
                return
            expect(time.monotonic() < until, ends)


def jobs_that_cannot_be(binary):
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port, "--slots", "600")
        place = ("--switch", f"127.0.0.1:{port}", "--deadline", "2")
        start_job(job, place)
        for words, text in (
                (("--job", "default"), "a job named 'default' is running"),
                (("--job", "second"), "the switch has 88 of 600 slots left")):
            status, said = outcome(job.start_rank(0, 1, *place, *words))
            expect(status == 1 and text in said, f"not '{text}' but: {said}")
    with Job(binary) as job:
        port = free_port()
        status, said = outcome(job.start_rank(0, 1, "--switch", f"127.0.0.1:{port}",
                                              "--deadline", "0.5"))
        expect(status == 1 and "nobody answers at" in said, said)
        job.start_switch(port)
        status, said = outcome(job.start_rank(0, 2, "--switch", f"127.0.0.1:{port}",
                                              "--deadline", "0.5"))
        expect(status == 1 and "1 of 2 ranks came; missing: rank 1" in said, said)


def main():
    tests = (a_rank_is_killed, a_rank_stalls, the_switch_is_killed,
             a_switch_serves_again_after_a_job_died, jobs_that_cannot_be)
    failures = 0
    for test in tests:
        try:
            test(sys.argv[1])
            print(f"{test.__name__}: passed")
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failures += 1
            print(f"{test.__name__}: FAILED: {error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
