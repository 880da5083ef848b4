#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tells a switch to stop, and starts it again. Its ranks must hear of the end at once, although
their calls wait for the switch to come back. Then the calls must go on within their deadline.

Usage: rejoin_test.py INFOLD
"""

import queue
import signal
import sys
import threading
import time

from processes import (
    PATIENCE,
    SHORT_THEN_LONG,
    Job,
    expect,
    expect_comeback,
    free_port,
    outcome,
    run_each,
    wait_for_sums,
)

WORLD = 2
# A rank that hears of the end only by its deadline takes this long.
DEADLINE = 40
AT_ONCE = DEADLINE / 4


class Lines:
    """The lines that a process writes to stderr, as they come."""

    def __init__(self, process):
        self.said = ""
        self.lines = queue.Queue()
        threading.Thread(target=self.read, args=(process.stderr,), daemon=True).start()

    def read(self, stream):
        for line in stream:
            self.lines.put(line)

    def wait_for(self, word, seconds):
        """Returns the line that has the word. It is an error if none comes within that time."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise AssertionError(f"no '{word}' in {seconds} s, but: {self.said}") from None
            self.said += line
            if word in line:
                return line


def job_around_a_restart(binary, shares_memory):
    with Job(binary) as job:
        port = free_port()
        switch = job.start_switch(port)
        hosts = "aab" if shares_memory else "abc"
        ranks = [
            job.start_rank(
                rank,
                WORLD,
                "--switch",
                f"127.0.0.1:{port}",
                *SHORT_THEN_LONG,
                "--deadline",
                str(DEADLINE),
                host=hosts[rank],
            )
            for rank in range(WORLD)
        ]
        heard = [Lines(rank) for rank in ranks]
        wait_for_sums(ranks[0])
        switch.send_signal(signal.SIGTERM)
        for lines in heard:
            line = lines.wait_for(" switch_lost ", AT_ONCE)
            expect("rejoins=true" in line, line)
        switch.wait(PATIENCE)
        job.start_switch(port)
        comes_back = [lines_say(lines, rank) for lines, rank in zip(heard, ranks, strict=True)]
        for rank in ranks:
            rank.kill()
        return comes_back


def lines_say(lines, rank):
    """Returns (0, ...) if the rank came back, else (its status, the reason)."""
    try:
        return 0, lines.wait_for(" rank_rejoined ", AT_ONCE)
    except AssertionError:
        expect(rank.poll() is not None, f"neither back nor over: {lines.said}")
        return rank.returncode, lines.said


def ranks_hear_at_once_and_come_back(binary):
    expect_comeback(lambda: job_around_a_restart(binary, shares_memory=False))


def ranks_of_one_host_come_back(binary):
    expect_comeback(lambda: job_around_a_restart(binary, shares_memory=True))


def a_rank_that_does_not_rejoin_fails_at_once(binary):
    with Job(binary) as job:
        port = free_port()
        switch = job.start_switch(port)
        rank = job.start(
            "bench",
            "allreduce",
            "--rank",
            "0",
            "--ranks",
            "1",
            "--switch",
            f"127.0.0.1:{port}",
            *SHORT_THEN_LONG,
            "--deadline",
            str(DEADLINE),
            INFOLD_REJOIN="0",
            INFOLD_SHARED_MEMORY="off",
        )
        wait_for_sums(rank)
        begun = time.monotonic()
        switch.send_signal(signal.SIGTERM)
        status, said = outcome(rank)
        expect(status == 1 and "has stopped or cannot be reached" in said, said)
        expect(time.monotonic() - begun < AT_ONCE, "it heard late")


if __name__ == "__main__":
    sys.exit(
        run_each(
            ranks_hear_at_once_and_come_back,
            ranks_of_one_host_come_back,
            a_rank_that_does_not_rejoin_fails_at_once,
        )
    )
