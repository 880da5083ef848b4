# SPDX-License-Identifier: Apache-2.0
"""Runs the infold binary as somebody who makes a mistake, and checks its message."""

import os
import subprocess
import sys
import tempfile
import time

SECONDS = 100
BARE = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("INFOLD_", "OMPI_", "PMI_", "SLURM_", "MASTER_", "RANK", "WORLD"))
}


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def completed(infold, folder, *words):
    """Runs the command to its end, and returns its status and what it wrote."""
    return subprocess.run(
        [infold, *words],
        cwd=folder,
        env=BARE,
        check=False,
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )


def run(infold, folder, *words):
    """Returns the status, the text on stderr, and how many seconds the run took."""
    start = time.monotonic()
    done = completed(infold, folder, *words)
    return done.returncode, done.stderr, time.monotonic() - start


def refused(infold, folder, words, status, *texts):
    code, said, took = run(infold, folder, *words)
    check(code == status, f"{words}: status {code}: {said}")
    for text in texts:
        check(text in said, f"{words}: no '{text}' in: {said}")
    return said, took


def run_each(cases):
    """Calls each case with the binary from the command line and an empty folder. Returns the exit
    status."""
    failures = 0
    for case in cases:
        problem = ""
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(sys.argv[1], folder)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                problem = str(error)
        print(f"{case.__name__}: {problem or 'ok'}")
        failures += problem != ""
    return 1 if failures else 0
