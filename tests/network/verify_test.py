#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `infold verify` as processes: without a fault, with one bit changed at one rank, and with
different options.

Usage: verify_test.py INFOLD
"""

import json
import os
import signal
import sys

from processes import Job, expect, free_port, outcome, run_each

WORLD = 3
SMALL = ("--elements", "0,1,33,353,5000")


def run(binary, words=SMALL, at=None, with_switch=True):
    """Returns (status, text) of every rank. `at` has further words for single ranks."""
    with Job(binary) as job:
        port = free_port()
        place = ("--rendezvous", f"127.0.0.1:{port}", "--place", "workers")
        if with_switch:
            job.start_switch(port)
            place = ("--switch", f"127.0.0.1:{port}")
        ranks = [
            job.start(
                "verify",
                "--rank",
                str(rank),
                "--ranks",
                str(WORLD),
                "--mtu",
                "1500",
                *place,
                *words,
                *(at or {}).get(rank, ()),
            )
            for rank in range(WORLD)
        ]
        return [outcome(rank) for rank in ranks]


def all_is_well(binary):
    for with_switch in (True, False):
        ends = run(binary, (*SMALL, "--native", "--rounds", "2", "--json"), with_switch=with_switch)
        expect(all(status == 0 for status, _ in ends), ends)
        lines = [json.loads(line) for line in ends[0][1].splitlines()]
        expect(lines[-1]["passed"] and lines[-1]["calls"] > 1700, lines[-1])
        expect(
            [k["collective"] for k in lines if k["event"] == "collective"]
            == ["all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter", "barrier"],
            lines,
        )
        off = {(k["wire"], k["type"]): k["off"] for k in lines if k["event"] == "rounding"}
        expect(len(off) == 7 * 4, off)
        for (wire, dtype), elements in off.items():
            if wire in ("automatic", "native", "digits"):
                expect(elements == 0, (wire, dtype, elements))
            if wire in ("bfp8", "bfp16"):
                expect(elements > 0, (wire, dtype, elements))


def one_bit_at_one_rank_is_named(binary):
    """Every rank names it, and rank 0 also names it for programs."""
    ends = run(binary, at={2: ("--flip", "4")})
    for status, said in ends:
        expect(status == 1, said)
        expect(
            "call 4, all_reduce (sum of 353 f32, special values): rank 2 has" in said
            and "at element 176, the others" in said
            and "1 ulp apart; seed 1" in said,
            said,
        )
    ends = run(binary, (*SMALL, "--json"), {1: ("--flip", "4")})
    found = json.loads(ends[0][1].splitlines()[0])
    expect(
        (found["call"], found["ranks"], found["element"], found["ulps"], found["against"])
        == (4, [1], 176, 1, "ranks"),
        found,
    )


def a_result_of_one_rank_alone_is_compared_with_the_reference(binary):
    ends = run(binary, ("--elements", "100"), {1: ("--flip", "80")})
    for status, said in ends:
        expect(
            status == 1
            and "call 80, reduce (" in said
            and "rank 1 has" in said
            and "at element 50, where the reference is" in said
            and "1 ulp" in said,
            said,
        )


def options_that_differ_are_named(binary):
    ends = run(binary, at={1: ("--seed", "2")})
    for status, said in ends:
        expect(status == 1 and "rank 1 has another --seed" in said, said)


def interrupting_one_rank_ends_all(binary):
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port)
        ranks = [
            job.start(
                "verify",
                "--rank",
                str(rank),
                "--ranks",
                "2",
                "--rounds",
                "1000000",
                "--switch",
                f"127.0.0.1:{port}",
            )
            for rank in range(2)
        ]
        expect("2 ranks, seed 1" in ranks[0].stdout.readline(), "rank 0 does not begin")
        ranks[0].send_signal(signal.SIGINT)
        for rank, text in ((0, "stopped on request"), (1, "rank 0")):
            status, said = outcome(ranks[rank])
            expect(status == 1 and text in said, said)


def any_program_may_be_verified(binary):
    """With INFOLD_VERIFY, sums stay right, and take more packets."""
    os.environ["INFOLD_VERIFY"] = "1"
    try:
        with Job(binary) as job:
            port = free_port()
            job.start_switch(port)
            ranks = [
                job.start_rank(
                    rank,
                    WORLD,
                    "--switch",
                    f"127.0.0.1:{port}",
                    "--bytes",
                    "4,100000",
                    "--iterations",
                    "20",
                    "--check",
                )
                for rank in range(WORLD)
            ]
            for rank in ranks:
                status, said = outcome(rank)
                expect(status == 0, said)
    finally:
        del os.environ["INFOLD_VERIFY"]


if __name__ == "__main__":
    sys.exit(
        run_each(
            all_is_well,
            one_bit_at_one_rank_is_named,
            a_result_of_one_rank_alone_is_compared_with_the_reference,
            options_that_differ_are_named,
            interrupting_one_rank_ends_all,
            any_program_may_be_verified,
        )
    )
