# SPDX-License-Identifier: Apache-2.0
"""Runs one command with a log, a time limit and a line of progress, and leaves no child behind."""

import os
import signal
import subprocess
import sys
import time

# Time between asking a process group to end and killing it. Sanitizers need a moment to report.
GRACE_S = 5


def stop_group(process):
    """Ends a process and all its children. Requires: it was started in a session of its own."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline:
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)


class Ticker:
    """Rewrites one terminal line with the elapsed time. Prints nothing without a terminal."""

    def __init__(self, title):
        self.title = title
        self.start = time.monotonic()
        self.shown = sys.stdout.isatty()

    def elapsed_s(self):
        return time.monotonic() - self.start

    def tick(self):
        if self.shown:
            print(f"\r\033[K{self.title} … {self.elapsed_s():.0f} s", end="", flush=True)

    def done(self, outcome):
        prefix = "\r\033[K" if self.shown else ""
        print(f"{prefix}{self.title}: {outcome} ({self.elapsed_s():.1f} s)", flush=True)


def run_logged(command, log, limit_s, cwd, ticker, env=None, stop=None):
    """Appends the command's output to the open file. Returns its exit code, or None at the
    limit and when the event `stop` is set."""
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    with subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=log,
                          stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            deadline = time.monotonic() + limit_s
            while time.monotonic() < deadline:
                try:
                    return process.wait(timeout=0.5)
                except subprocess.TimeoutExpired:
                    ticker.tick()
                if stop is not None and stop.is_set():
                    return None
            log.write(f"stopped after {limit_s} s\n")
            return None
        finally:
            # Also runs after Ctrl-C, and after a normal end, in case a child is left.
            stop_group(process)
