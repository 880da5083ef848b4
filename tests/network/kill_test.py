#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills processes of running jobs, and starts impossible jobs. Every rank must soon give the
reason.

Usage: kill_test.py INFOLD
"""

import functools
import os
import re
import signal
import sys
import time

from processes import (
    PATIENCE,
    SHORT_THEN_LONG,
    Job,
    expect,
    expect_comeback,
    free_port,
    held,
    kill_all,
    outcome,
    run_each,
    wait_for_sums,
    wait_until,
)

WORLD = 3
# The host of each rank: each on its own, two on one host, all on one. Rank 0 then leads.
LAYOUTS = (("a", "b", "c"), ("a", "a", "b"), ("a", "a", "a"))


def start_job(job, place, words=SHORT_THEN_LONG, hosts=LAYOUTS[0]):
    ranks = [job.start_rank(rank, WORLD, *place, *words, host=hosts[rank]) for rank in range(WORLD)]
    path, _ = wait_for_sums(ranks[0])
    expected = {
        1: "shared memory of one host",
        2: "2 of 3 ranks sum in shared memory first; 2 contr",
        3: "the network",
    }[len(set(hosts))]
    expect(f"path: {expected}" in path, f"not '{expected}' but: {path}")
    return ranks


def expect_all_say(ranks, *patterns):
    for process in ranks:
        status, said = outcome(process)
        expect(status == 1, f"a rank ended with {status}: {said}")
        for pattern in patterns:
            expect(re.search(pattern, said), f"a rank did not say '{pattern}' but: {said}")


def local_sockets():
    """Returns the names of all sockets without a file, by inode."""
    with open("/proc/net/unix", encoding="utf-8") as table:
        rows = [line.split() for line in table]
    return {row[6]: row[7] for row in rows if len(row) > 7 and row[7].startswith("@infold-")}


def meetings_of(processes):
    """Returns the names under which joining ranks wait for other ranks of their host."""
    names = local_sockets()
    found = set()
    for process in processes:
        folder = f"/proc/{process.pid}/fd"
        for entry in os.listdir(folder):
            try:
                target = os.readlink(f"{folder}/{entry}")
            except FileNotFoundError:
                continue  # closed in between
            found.add(names.get(target.removeprefix("socket:[").removesuffix("]")))
    return found - {None}


def a_rank_is_killed(binary):
    """The other ranks must name it, with or without a switch, whether or not it led its host."""
    for sites, hosts, victim in (
        ("switches", LAYOUTS[0], 1),
        ("switches", LAYOUTS[1], 0),
        ("switches", LAYOUTS[1], 1),
        ("switches", LAYOUTS[2], 0),
        ("switches", LAYOUTS[2], 1),
        ("workers", LAYOUTS[0], 1),
        ("workers", LAYOUTS[2], 1),
    ):
        with Job(binary) as job:
            port = free_port()
            place = ("--rendezvous", f"127.0.0.1:{port}", "--place", "workers")
            if sites == "switches":
                job.start_switch(port)
                place = ("--switch", f"127.0.0.1:{port}")
            ranks = start_job(job, place, hosts=hosts)
            ranks[victim].send_signal(signal.SIGKILL)
            others = [ranks[rank] for rank in range(WORLD) if rank != victim]
            expect_all_say(others, f"rank {victim} is gone")


def a_rank_stalls(binary):
    """Its process lives, so only the deadline ends the wait. Seen from another host, the ranks of
    one host are late together. A leader that stalls may have said before that another rank was late
    as well."""
    for hosts, victim, text in (
        (LAYOUTS[0], 2, "rank 2"),
        (LAYOUTS[1], 0, "gave up"),
        (LAYOUTS[1], 1, "gave up"),
        (LAYOUTS[2], 0, "ranks? 0"),
        (LAYOUTS[2], 2, "rank 2"),
    ):
        with Job(binary) as job:
            port = free_port()
            job.start_switch(port)
            place = ("--switch", f"127.0.0.1:{port}", "--deadline", "2")
            ranks = start_job(job, place, hosts=hosts)
            ranks[victim].send_signal(signal.SIGSTOP)
            others = [ranks[rank] for rank in range(WORLD) if rank != victim]
            expect_all_say(others, text)
            ranks[victim].send_signal(signal.SIGCONT)


def the_switch_is_killed(binary):
    for hosts in LAYOUTS:
        for ending in (signal.SIGKILL, signal.SIGTERM):
            with Job(binary) as job:
                port = free_port()
                switch = job.start_switch(port)
                place = ("--switch", f"127.0.0.1:{port}", "--deadline", "3")
                ranks = start_job(job, place, hosts=hosts)
                switch.send_signal(ending)
                switch.wait(PATIENCE)
                with held(port):
                    expect_all_say(
                        ranks, f"aggregator 0 at 127.0.0.1:{port}", "has stopped or cannot be"
                    )


def the_switch_is_restarted(binary):
    def job_on(hosts):
        with Job(binary) as job:
            port = free_port()
            switch = job.start_switch(port)
            words = ("--bytes", "64,4000000", "--iterations", "30", "--check")
            ranks = start_job(job, ("--switch", f"127.0.0.1:{port}"), words, hosts)
            switch.kill()
            switch.wait(PATIENCE)
            job.start_switch(port)
            return [outcome(process) for process in ranks]

    for hosts in LAYOUTS:
        expect_comeback(functools.partial(job_on, hosts))


def ranks_are_killed_while_they_join(binary):
    """They leave nothing behind, and the next job of that name can run."""
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port)
        place = ("--switch", f"127.0.0.1:{port}")
        early = [job.start_rank(rank, WORLD, *place) for rank in range(WORLD - 1)]
        wait_until(
            lambda: len(meetings_of(early)) >= len(early),
            "the ranks do not wait for others of their host",
        )
        meetings = meetings_of(early)
        kill_all(early)
        left = meetings & set(local_sockets().values())
        expect(not left, f"left behind: {left}")
        expect(not [name for name in os.listdir("/dev/shm") if "infold" in name], "files are left")
        run_until_it_works(job, place)


def all_are_killed_at_any_step(binary):
    """Kills all ranks at moments from before they meet until they sum."""
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port)
        place = ("--switch", f"127.0.0.1:{port}")
        for step_s in (0.02, 0.04, 0.06, 0.08, 0.1, 0.2):
            ranks = [job.start_rank(rank, WORLD, *place) for rank in range(WORLD)]
            until = time.monotonic() + step_s
            while time.monotonic() < until:
                ranks[0].poll()
            kill_all(ranks)
            run_until_it_works(job, place)


def run_until_it_works(job, place):
    """Starts the job until it works. Its name is free as soon as the switch has noticed."""
    until = time.monotonic() + PATIENCE
    while True:
        again = [
            job.start_rank(rank, WORLD, *place, "--bytes", "4096", "--check")
            for rank in range(WORLD)
        ]
        ends = [outcome(process) for process in again]
        if all(status == 0 for status, _ in ends):
            return
        expect(time.monotonic() < until, ends)


def a_switch_serves_again_after_a_job_died(binary):
    for hosts in LAYOUTS:
        with Job(binary) as job:
            port = free_port()
            job.start_switch(port)
            place = ("--switch", f"127.0.0.1:{port}")
            ranks = start_job(job, place, hosts=hosts)
            kill_all(ranks)
            run_until_it_works(job, place)


def jobs_that_cannot_be(binary):
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port, "--slots", "512")
        place = ("--switch", f"127.0.0.1:{port}", "--deadline", "2")
        start_job(job, place)
        for words, text in (
            (("--job", "default"), "a job named 'default' is running"),
            (("--job", "second"), "the switch has 0 of 512 slots left"),
        ):
            status, said = outcome(job.start_rank(0, 1, *place, *words))
            expect(status == 1 and text in said, f"not '{text}' but: {said}")
    with Job(binary) as job:
        port = free_port()
        status, said = outcome(
            job.start_rank(0, 1, "--switch", f"127.0.0.1:{port}", "--deadline", "0.5")
        )
        expect(status == 1 and "no answer from" in said, said)
        job.start_switch(port)
        status, said = outcome(
            job.start_rank(0, 2, "--switch", f"127.0.0.1:{port}", "--deadline", "0.5")
        )
        expect(status == 1 and "1 of 2 ranks came; missing: rank 1" in said, said)


if __name__ == "__main__":
    sys.exit(
        run_each(
            a_rank_is_killed,
            a_rank_stalls,
            the_switch_is_killed,
            the_switch_is_restarted,
            ranks_are_killed_while_they_join,
            all_are_killed_at_any_step,
            a_switch_serves_again_after_a_job_died,
            jobs_that_cannot_be,
        )
    )
