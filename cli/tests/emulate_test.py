#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets real ranks join emulators in each placement: every sum must be that of all ranks. Then
presses Ctrl-C: the emulator must end in order, also while ranks call, and its ranks must hear it.

Usage: emulate_test.py INFOLD
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

SECONDS = 100
RANKS = 8
REAL = 2
ALONE = {**{name: value for name, value in os.environ.items() if not name.startswith("INFOLD_")},
         "INFOLD_REJOIN": "0"}
PLAN = """plan world=8 small_slots=32 bulk_slots=96
tree weight=1  # of two racks, with a host in the second one
aggregator place=in_path children=0-3:1,4-7:2
aggregator place=rack children=0,1,2,3
aggregator place=rack children=4,5,6-7:3
aggregator place=host children=6,7
"""


def check(condition, text):
    if not condition:
        raise AssertionError(text)


class Program:
    """A process of infold that says on its first line where ranks join."""

    def __init__(self, key, *words):
        self.process = subprocess.Popen(words, text=True, env=ALONE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
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


def emulator(infold, *options):
    return Program("listen", infold, "emulate", "--listen", "127.0.0.1:0", "--ranks", str(RANKS),
                   "--real", str(REAL), "--values", "generated", "--json", *options)


def ranks(infold, address, *options):
    return [subprocess.Popen([infold, "bench", "allreduce", "--switch", address, "--rank",
                              str(rank), "--world", str(RANKS), "--shared-memory", "off", *options],
                             text=True, env=ALONE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for rank in range(REAL)]


def sums_are_right(infold, *options):
    with emulator(infold, *options) as emulated:
        for rank in ranks(infold, emulated.address, "--bytes", "4,40KB,500KB", "--dtype", "f32",
                          "--check", "--iterations", "3"):
            said, log = rank.communicate(timeout=SECONDS)
            check(rank.returncode == 0, f"a rank ended with {rank.returncode}: {said}{log}")
        report = emulated.interrupt()
        check(report["transfers"] > 0 and report["packets_in"] > 0, report)


def ends_during_calls(infold, *options):
    with emulator(infold, *options) as emulated:
        real = ranks(infold, emulated.address, "--bytes", "40KB", "--iterations", "1000000")
        try:
            real[0].stdout.readline()  # The rank has joined.
            emulated.interrupt()
            for rank in real:
                _, log = rank.communicate(timeout=SECONDS)
                check(rank.returncode == 1, f"a rank ended with {rank.returncode}: {log}")
        finally:
            for rank in real:
                rank.kill()
                rank.communicate()


def main():
    infold = sys.argv[1]
    failures = 0
    with tempfile.TemporaryDirectory() as folder, \
            Program("control", infold, "switch", "--listen", "127.0.0.1:0", "--threads", "2",
                    "--json") as switch:
        plan = pathlib.Path(folder) / "racks.plan"
        plan.write_text(PLAN, encoding="utf-8")
        for options in ((), ("--racks", "3"), ("--racks", "8"), ("--hosts", "4", "--switches", "3"),
                        ("--plan", str(plan)), ("--switch", switch.address)):
            for case in (sums_are_right, ends_during_calls):
                problem = ""
                try:
                    case(infold, *options)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    problem = str(error)
                print(f"emulate {' '.join(options)}, {case.__name__}: {problem or 'ok'}")
                failures += problem != ""
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
