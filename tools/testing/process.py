# SPDX-License-Identifier: Apache-2.0
"""Runs one command with a log, a time limit and a line of progress, and leaves no child behind."""

import os
import signal
import subprocess
import sys
import time

# Time between asking a process group to end and killing it. Sanitizers need a moment to report.
GRACE_S = 5
# The niceness of what runs behind others: it gets 0.3 of the processors if others want all of them.
# Some tests poll for as long as they run, so with less it would hardly get on.
BEHIND = 4


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

    def done(self, outcome, waited_s=0.0):
        """Prints the outcome, the time, and how much of it the stage waited for its build."""
        prefix = "\r\033[K" if self.shown else ""
        waited = f", {waited_s:.0f} of them for its build" if waited_s >= 1 else ""
        print(f"{prefix}{self.title}: {outcome} ({self.elapsed_s():.1f} s{waited})", flush=True)


def let_others_go_first(process):
    """Gives a session and all that it starts a smaller share of the processors. Linux divides them
    between sessions, so `nice` alone counts only within one."""
    try:
        with open(f"/proc/{process.pid}/autogroup", "w", encoding="ascii") as group:
            group.write(str(BEHIND))
    except OSError:
        pass  # It has ended, or this kernel does not group by session.


def run_logged(command, log, limit_s, cwd, ticker, env=None, stop=None, behind=False):
    """Runs a command, and appends its output to the open file. Returns its exit code, or None if it
    reaches the limit or the event `stop` is set. With `behind`, the command gets less of the
    processors than others."""
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    with subprocess.Popen(
        ["nice", "-n", str(BEHIND), *command] if behind else command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            if behind:
                let_others_go_first(process)
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
