#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills one of four ranks at a random moment of joining, and measures when the others learn of it.
While ranks are missing, the others need not learn of it: another process then takes the place, and
the job must start. Otherwise the job must end for the others, and a new job of the same name must
start at once.

Usage: killed_ranks.py INFOLD [TRIES [SEED]]
Prints one line of JSON: how many tries ended in which way, and the milliseconds until the last of
the other ranks learned of the loss.
"""

import json
import pathlib
import random
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "network"))
from processes import SHORT_THEN_LONG, Job, expect, free_port

WORLD = 4
# Ranks have joined after some 50 ms. The moments range from before the first join to after the last
# one.
MOMENTS_S = 0.15
HEARS_S = 0.5
STARTS_S = 20
# A rank prints these texts about a lost rank, after it has joined or while it is joining.
HEARD = ("rank_lost", "was lost", "has ended or cannot be reached")


class Rank:
    """A process, and the time at which it first printed one of the expected words."""

    def __init__(self, job, port, rank):
        self.said = {}
        self.process = job.start(
            "bench",
            "allreduce",
            "--switch",
            f"127.0.0.1:{port}",
            "--rank",
            str(rank),
            "--ranks",
            str(WORLD),
            *SHORT_THEN_LONG,
            INFOLD_LOG="info",
            INFOLD_SHARED_MEMORY="off",
        )
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            for word in (*HEARD, "rank_joined"):
                if word in line:
                    self.said.setdefault(word, time.monotonic())

    def heard_at(self):
        return min((self.said[word] for word in HEARD if word in self.said), default=None)


def wait_until(is_so, seconds):
    until = time.monotonic() + seconds
    while not is_so() and time.monotonic() < until:
        time.sleep(0.002)
    return is_so()


def expect_start(ranks, what):
    expect(wait_until(lambda: all("rank_joined" in rank.said for rank in ranks), STARTS_S), what)


def end(ranks):
    for rank in ranks:
        rank.process.kill()
        rank.process.wait()
        rank.reader.join()


def try_once(job, port, draw):
    """Returns the outcome, and the milliseconds until it."""
    ranks = [Rank(job, port, rank) for rank in range(WORLD)]
    victim = draw.randrange(WORLD)
    time.sleep(draw.uniform(0, MOMENTS_S))
    others = [rank for rank in ranks if rank is not ranks[victim]]
    killed_at = time.monotonic()
    ranks[victim].process.kill()
    heard = wait_until(lambda: all(rank.heard_at() for rank in others), HEARS_S)
    if heard:
        latest = max(rank.heard_at() for rank in others)
        end(ranks)
        ranks = [Rank(job, port, rank) for rank in range(WORLD)]
        expect_start(ranks, "a job of the same name does not start")
        end(ranks)
        return "heard", 1e3 * (latest - killed_at)
    expect(not any(rank.heard_at() for rank in others), "some heard and others did not")
    again = Rank(job, port, victim)
    expect_start([*others, again], "the job does not start with a new process")
    end([*ranks, again])
    return "replaced", None


def main():
    binary, tries, seed = (*sys.argv[1:], *("40", "1")[len(sys.argv) - 2 :])
    draw = random.Random(int(seed))
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port, "--log-level", "off")
        results = [try_once(job, port, draw) for _ in range(int(tries))]
    heard = [took for _, took in results if took is not None]
    print(
        json.dumps(
            {
                "tries": len(results),
                "replaced": len(results) - len(heard),
                "heard": len(heard),
                "median_ms": round(statistics.median(heard), 1) if heard else None,
                "most_ms": round(max(heard), 1) if heard else None,
            }
        )
    )


if __name__ == "__main__":
    main()
