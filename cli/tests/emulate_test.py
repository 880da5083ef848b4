#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets real ranks join emulators in each placement, and checks that every sum includes all ranks.
Then it presses Ctrl-C: the emulator must end in order, even during calls, and tell its ranks. A
real rank that dies must end the job for the others.

Usage: emulate_test.py INFOLD
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from mistakes import check

SECONDS = 100
RANKS = 8
REAL = 2
ALONE = {
    **{name: value for name, value in os.environ.items() if not name.startswith("INFOLD_")},
    "INFOLD_REJOIN": "0",
}
PLAN = """plan world=8 small_slots=32 bulk_slots=96
tree weight=1  # The plan has two racks, and a host in the second one.
aggregator place=in_path children=0-3:1,4-7:2
aggregator place=rack children=0,1,2,3
aggregator place=rack children=4,5,6-7:3
aggregator place=host children=6,7
"""
# The plan has a switch, and a site at each rank.
PLAN_OF_RANKS = "plan world=8 small_slots=32 bulk_slots=96\n" + "".join(
    f"tree weight=1\naggregator place={place} children=0,1,2,3,4,5,6,7\n"
    for place in ("in_path", *("rank",) * RANKS)
)


class Case:
    """The options of an emulator, and the options and environment variables of the ranks that join
    it."""

    def __init__(self, *options, join=(), **variables):
        self.options = options
        self.join = join
        self.variables = variables


class Program:
    """A process of infold whose first line says where ranks join."""

    def __init__(self, key, *words):
        self.process = subprocess.Popen(
            words, text=True, env=ALONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.address = json.loads(self.process.stdout.readline())[key]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        said, log = self.process.communicate(timeout=SECONDS)
        check(self.process.returncode == 0, f"status {self.process.returncode}: {log}")
        return json.loads(said.splitlines()[-1])


def emulator(infold, case):
    return Program(
        "listen",
        infold,
        "emulate",
        "--listen",
        "127.0.0.1:0",
        "--ranks",
        str(RANKS),
        "--real",
        str(REAL),
        "--values",
        "generated",
        "--json",
        *case.options,
    )


def ranks(infold, address, case, *options):
    return [
        subprocess.Popen(
            [
                infold,
                "bench",
                "allreduce",
                "--switch",
                address,
                "--rank",
                str(rank),
                "--ranks",
                str(RANKS),
                "--shared-memory",
                "off",
                *case.join,
                *options,
            ],
            text=True,
            env=ALONE | case.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for rank in range(REAL)
    ]


def sums_are_right(infold, case):
    with emulator(infold, case) as emulated:
        for rank in ranks(
            infold,
            emulated.address,
            case,
            "--bytes",
            "4,40KB,500KB",
            "--dtype",
            "f32",
            "--check",
            "--iterations",
            "3",
        ):
            said, log = rank.communicate(timeout=SECONDS)
            check(rank.returncode == 0, f"a rank ended with {rank.returncode}: {said}{log}")
        report = emulated.interrupt()
        check(report["transfers"] > 0 and report["packets_in"] > 0, report)


@contextlib.contextmanager
def calling(infold, address, case):
    """Runs ranks that have joined and call until they are stopped."""
    real = ranks(infold, address, case, "--bytes", "40KB", "--iterations", "1000000")
    try:
        real[0].stdout.readline()  # The rank has joined.
        yield real
    finally:
        for rank in real:
            rank.kill()
            rank.communicate()


def ends_with_an_error(rank, why=""):
    _, log = rank.communicate(timeout=SECONDS)
    check(rank.returncode == 1, f"a rank ended with {rank.returncode}: {log}")
    check(why in log, f"'{why}' is not in: {log}")


def ends_during_calls(infold, case):
    with emulator(infold, case) as emulated, calling(infold, emulated.address, case) as real:
        emulated.interrupt()
        # A rank names the emulated aggregator that it misses first, which may be any of them.
        has_one = not {"--switch", "--place", "--plan"} & set(case.options)
        for rank in real:
            ends_with_an_error(rank, emulated.address if has_one else "")


def a_lost_rank_ends_the_job(infold, case):
    with emulator(infold, case) as emulated, calling(infold, emulated.address, case) as real:
        real[1].kill()
        ends_with_an_error(real[0], "rank 1")
        emulated.interrupt()


def says_what_cannot_be_generated(infold, case):
    with emulator(infold, case) as emulated:
        for rank in ranks(infold, emulated.address, case, "--bytes", "40KB", "--layout", "blocks"):
            ends_with_an_error(rank, "or the emulator's log if the rank is emulated")
        emulated.process.send_signal(signal.SIGINT)
        _, log = emulated.process.communicate(timeout=SECONDS)
        check("digits, blocks, rows" in log and "--values zeros" in log, log)


def logs_the_ranks_that_it_refuses(infold, case):
    with emulator(infold, case) as emulated:
        for rank in ranks(infold, emulated.address, case, "--place", "mixed"):
            ends_with_an_error(rank, "sums a share, and emulated ranks do not")
        emulated.process.send_signal(signal.SIGINT)
        _, log = emulated.process.communicate(timeout=SECONDS)
        for rank in range(REAL):
            check(f"rank {rank} sums a share" in log, log)
        check(log.count("join_refused") == REAL, log)


def main():
    infold = sys.argv[1]
    failures = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        Program(
            "join", infold, "switch", "--listen", "127.0.0.1:0", "--threads", "2", "--json"
        ) as switch,
    ):
        plan = pathlib.Path(folder) / "racks.plan"
        plan.write_text(PLAN, encoding="utf-8")
        of_ranks = pathlib.Path(folder) / "ranks.plan"
        of_ranks.write_text(PLAN_OF_RANKS, encoding="utf-8")
        sums = ("--place", "mixed")
        for case in (
            Case(),
            Case("--racks", "3"),
            Case("--racks", "8"),
            Case("--hosts", "4", "--switches", "3"),
            Case("--plan", str(plan)),
            Case("--switch", switch.address),
            Case(
                "--switch",
                switch.address,
                "--place",
                "mixed",
                "--switch-weight",
                "2",
                join=(*sums, "--worker-weight", "3"),
            ),
            Case("--place", "workers", INFOLD_SITES="mixed"),
            Case(
                "--place",
                "mixed",
                "--switches",
                "2",
                "--switch-weight",
                "3",
                join=(*sums, "--worker-weight", "2"),
            ),
            Case("--place", "mixed", "--racks", "2", join=sums),
            Case("--plan", str(of_ranks), join=sums),
        ):
            tests = (sums_are_right, ends_during_calls, a_lost_rank_ends_the_job)
            if not case.options:
                tests = (*tests, says_what_cannot_be_generated, logs_the_ranks_that_it_refuses)
            for test in tests:
                problem = ""
                try:
                    test(infold, case)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    problem = str(error)
                print(f"emulate {' '.join(case.options)}, {test.__name__}: {problem or 'ok'}")
                failures += problem != ""
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
