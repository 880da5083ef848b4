#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs `infold demo` with few steps, kills one of its processes, and presses Ctrl-C on it.

Usage: demo_process_test.py PROGRAM, which is infold or infold-demo
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from mistakes import check

SECONDS = 100
LONG = ("demo", "--steps", "250", "--ranks", "3", "--json")


def children(pid):
    """Returns the processes that this one started, as (number, words of the command)."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            words = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            found.append((int(child), [word.decode() for word in words]))
    return found


def wait_until_gone(processes):
    """Waits until all have ended, because a killed process stays in the table for a moment."""
    until = time.monotonic() + 10
    while any(pathlib.Path(f"/proc/{pid}").exists() for pid, _ in processes):
        check(time.monotonic() < until, f"still there: {processes}")
        time.sleep(0.01)


class Demo:
    """A demo during its distributed training. At the end its processes and files must be gone."""

    def __init__(self, infold, folder):
        environment = {**os.environ, "TMPDIR": folder}
        self.folder = pathlib.Path(folder)
        self.process = subprocess.Popen(
            [infold, *LONG],
            cwd=folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def wait_until_together(self):
        """Returns the demo's processes once rank 0 has reported a step."""
        for line in self.process.stdout:
            if "workers, infold" in line:
                return children(self.process.pid)
        raise AssertionError("ended early: " + self.process.stderr.read())

    def end(self):
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err

    def check_clean(self, processes):
        """Checks that no process and no file is left."""
        wait_until_gone(processes)
        left = [p.name for p in self.folder.iterdir()]
        check(not left, f"left behind: {left}")


def shows_what_it_claims(infold, folder):
    result = subprocess.run(
        [
            infold,
            "demo",
            "--steps",
            "20",
            "--ranks",
            "3",
            "--loss",
            "2",
            "--json",
            "--out",
            "demo.svg",
        ],
        check=False,
        text=True,
        capture_output=True,
        cwd=folder,
        timeout=SECONDS,
    )
    check(result.returncode == 0, result.stdout + result.stderr)
    end = json.loads(result.stdout.splitlines()[-1])
    check(all(k["passed"] for k in end["checks"]) and len(end["checks"]) == 4, end)
    share = end["packets_lost"] / end["packets_sent"]
    check(0.015 < share < 0.025 and end["packets_resent"] > 0, end)
    check((pathlib.Path(folder) / "demo.svg").stat().st_size > 1000, "no picture")
    (pathlib.Path(folder) / "demo.svg").unlink()


def says_who_was_killed(infold, folder):
    for kind, rank, text in (
        ("demo-worker", "1", "infold demo: worker 1 was ended by signal 9; worker"),
        ("switch", None, "infold demo: switch 0 was ended by signal 9; worker"),
    ):
        with Demo(infold, folder) as demo:
            processes = demo.wait_until_together()
            check(len(processes) == 4, processes)
            victim = next(
                pid
                for pid, words in processes
                if kind in words and (rank is None or words[words.index("--rank") + 1] == rank)
            )
            os.kill(victim, signal.SIGKILL)
            status, _, err = demo.end()
            check(status == 1 and text in err, err)
            check("rank 1 is gone" in err or "aggregator 0 at" in err, err)
            demo.check_clean(processes)


def ends_cleanly_on_request(infold, folder):
    for sign in (signal.SIGINT, signal.SIGTERM):
        with Demo(infold, folder) as demo:
            processes = demo.wait_until_together()
            demo.process.send_signal(sign)
            status, _, err = demo.end()
            check(status == 1 and "stopped on request" in err, err)
            demo.check_clean(processes)


def processes_end_with_a_killed_demo(infold, folder):
    with Demo(infold, folder) as demo:
        processes = demo.wait_until_together()
        demo.process.kill()
        demo.process.wait(SECONDS)
        wait_until_gone(processes)


def main():
    infold = str(pathlib.Path(sys.argv[1]).resolve())
    failures = 0
    for test in (
        shows_what_it_claims,
        says_who_was_killed,
        ends_cleanly_on_request,
        processes_end_with_a_killed_demo,
    ):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(infold, folder)
                print(f"{test.__name__}: passed")
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failures += 1
                print(f"{test.__name__}: FAILED: {error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
