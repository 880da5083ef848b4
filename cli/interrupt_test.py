#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presses Ctrl-C on commands that are at work: each must end soon, and not as if it were done.
Sends SIGTERM to switches at work: each must end in order.

Usage: interrupt_test.py INFOLD
"""

import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

# Each says on stderr or stdout that it is at work before it is interrupted.
COMMANDS = (
    ("demo", "--steps", "5000"),
    ("sim", "--swarm", "10000000"),
    ("bench", "kernels", "--seconds", "60", "--place", "cache"),
)
# A wrong answer to Ctrl-C is to go on for hours; a slow machine is not wrong.
SECONDS = 100
SWITCHES = 50


def interrupt(binary, words, directory):
    """Returns what is wrong, or an empty string."""
    process = subprocess.Popen([binary, *words], cwd=directory, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        if not process.stdout.read(1):
            return "ended without a word"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
        status = process.returncode
    except subprocess.TimeoutExpired:
        return f"still ran {SECONDS} s later"
    finally:
        process.kill()
    return "" if status in (1, -signal.SIGINT) else f"ended with status {status}"


class Load:
    """Connections that come and go at a switch, and processes beside it: more threads that could
    take a signal, at more moments."""

    def __init__(self, port):
        self.port = port
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._connect) for _ in range(4)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for thread in self.threads:
            thread.join()

    def _connect(self):
        while not self.is_over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as peer:
                    peer.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
            except OSError:
                pass  # It is ending.


def terminate_switch(binary, moment):
    """A switch must hear SIGTERM whenever it comes. Returns what is wrong, or an empty string."""
    process = subprocess.Popen([binary, "switch", "--listen", "127.0.0.1:0", "--json"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        control = json.loads(process.stdout.readline())["control"]
        with Load(int(control.rpartition(":")[2])):
            time.sleep(moment)
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=SECONDS)
        if "switch_stopping why=SIGTERM" not in said:
            return "did not say why it ends: " + said
    except subprocess.TimeoutExpired:
        return f"still ran {SECONDS} s later"
    finally:
        process.kill()
    return "" if process.returncode == 0 else f"ended with status {process.returncode}: {said}"


def main():
    failures = 0
    for round_ in range(SWITCHES):
        problem = terminate_switch(sys.argv[1], round_ * 0.0007)
        if problem:
            print(f"infold switch, SIGTERM, {round_}: {problem}")
        failures += problem != ""
    for words in COMMANDS:
        with tempfile.TemporaryDirectory() as directory:
            problem = interrupt(sys.argv[1], words, directory)
        print(f"infold {' '.join(words)}: {problem or 'ended'}")
        failures += problem != ""
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
