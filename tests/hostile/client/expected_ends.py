# SPDX-License-Identifier: Apache-2.0
"""How the processes of ranks must end that something hostile has met, and the times that they
have."""

import concurrent.futures
import subprocess
import time
import unicodedata

from battle import STRANGE
from processes import expect

DEADLINE_S = 2.0
# Nobody may wait for longer than this in addition to the own deadline, and a rank without one hears
# of an end within it. The start of a process and its end take seconds on a busy machine.
SLACK_S = 120.0
LONG_S = 10 * SLACK_S  # the deadline of a rank that must end for another reason
DAY_MS = 86_400_000
AT_A_TIME = 6


def expect_ends(rank, since, why, limit_s=DEADLINE_S + SLACK_S):
    """The process must end by itself, with status 1 and a reason, in characters that a terminal
    shows. Returns its output."""
    try:
        _, said = rank.communicate(timeout=max(0.1, since + limit_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        rank.kill()
        raise AssertionError(f"{why}: the rank is still there after {limit_s} s") from None
    expect(rank.returncode == 1 and said.strip(), f"{why}: {rank.returncode}: {said}")
    strange = {each for each in said if each != "\n" and unicodedata.category(each) in STRANGE}
    expect(not strange, f"{why}: the rank prints {sorted(strange)}")
    return said


def all_of(calls):
    """Runs the cases, some at a time, and reports all failures together."""
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        ends = [done.exception() for done in [pool.submit(*call) for call in calls]]
    failed = [str(error) for error in ends if error]
    expect(not failed, f"{len(failed)} of {len(calls)}: " + "\n".join(failed))
