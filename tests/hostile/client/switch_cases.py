# SPDX-License-Identifier: Apache-2.0
"""Attacks by a switch on its ranks. A rank must end in good order and in time, with an error that
gives the reason."""

import random
import time

from expected_ends import DEADLINE_S, LONG_S, SLACK_S, all_of, expect_ends
from hostile_switch import HostileSwitch, Session, drawn_replies, joined_here, named_replies
from processes import Job, expect

SILENCE_S = 10.0  # J-006


def switch_case(binary, name, replies):
    """Starts one rank at a switch that gives this answer."""
    with HostileSwitch(replies) as hostile, Job(binary) as job:
        since = time.monotonic()
        rank = job.start(
            "bench",
            "allreduce",
            "--switch",
            f"127.0.0.1:{hostile.port}",
            "--rank",
            "0",
            "--ranks",
            "2",
            "--deadline",
            str(DEADLINE_S),
            "--bytes",
            "100000",
        )
        expect_ends(rank, since, f"a switch says '{name}'")


def hostile_switches(binary, seed, drawn):
    """Tries the named answers, and a number of drawn ones."""
    cases = [*named_replies().items()]
    draw = random.Random(seed)
    for number in range(drawn):
        replies = drawn_replies(draw)
        cases.append((f"seed {seed}, number {number}: {str(replies)[:600]}", replies))
    all_of([(switch_case, binary, *case) for case in cases])
    return len(cases)


def a_silent_switch_is_lost(binary):
    """A rank that sums leaves a switch that answers no keepalive, and stays with one that does
    (J-006)."""
    gone = []
    steps = [
        joined_here(),
        Session.hear_request,
        {"go": {}},
        lambda _: gone.append(time.monotonic()),
    ]
    words = ("--rank", "0", "--ranks", "2", "--deadline", str(LONG_S), "--bytes", "100000")
    with (
        HostileSwitch(steps, True) as silent,
        HostileSwitch(steps[:3]) as lives,
        Job(binary) as job,
    ):
        for switch in (silent, lives):
            job.start("bench", "allreduce", "--switch", f"127.0.0.1:{switch.port}", *words)
        expect(silent.ended.acquire(timeout=SLACK_S), "the rank stays at a silent switch")
        waited = time.monotonic() - gone[0] if gone else 0
        expect(waited >= 0.9 * SILENCE_S, f"the rank left after {waited:.1f} s of silence")
        expect(not lives.ended.acquire(timeout=2), "the rank has left a switch that lives")
