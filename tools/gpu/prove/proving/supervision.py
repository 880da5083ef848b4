# SPDX-License-Identifier: Apache-2.0
"""Runs one step in a process group of its own, and ends it at its limit. All that it prints goes to
the log; lines of JSON are its figures."""

import json
import os
import queue
import subprocess
import sys
import threading
import time

from steps import FOLDER

sys.path.append(str(FOLDER / "tools"))
from testing import process as processes

GRACE_S = 5  # that a step has to end after its output has ended


def figures_of(line):
    """Returns the object of a line of JSON, or None for another line."""
    if not line.startswith("{"):
        return None
    try:
        return json.loads(line)
    except ValueError:
        return None


def _follow(process, lines, end):
    """Yields the lines until the process has ended or the limit is reached."""
    while True:
        try:
            line = lines.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            return
        if line is None:
            return
        yield line


def run_step(step, machine, limit_s, report):
    report.begin(step.name, step.profile)
    begun = time.monotonic()
    words = step.words(machine)
    report.log_line("$ " + " ".join(words))
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line.rstrip("\n"))
        lines.put(None)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    last = ""
    try:
        for line in _follow(process, lines, begun + limit_s):
            report.log_line(line)
            if (figure := figures_of(line)) is not None:
                report.figure(figure)
            else:
                last = line.strip() or last
        late = time.monotonic() - begun >= limit_s
        if not late:
            process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        late = True
    finally:
        processes.stop_group(process)
        reader.join(GRACE_S)
        if not reader.is_alive():  # otherwise a process that left the group still holds the pipe
            process.stdout.close()
    if late:
        report.end("timed out", f"not done after {limit_s} s; last words: {last}")
    elif process.returncode == 0:
        report.end("passed", "")
    else:
        report.end("failed", f"status {process.returncode}; last words: {last}")
