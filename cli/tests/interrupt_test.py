#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presses Ctrl-C on running commands: each must end soon, say that it was stopped and not report
success. Sends SIGTERM to running switches: each must end in order. Sends both signals to ranks that
wait for others with a deadline of an hour: each must leave at once and say why.

Usage: interrupt_test.py INFOLD
"""

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

# Each command prints something when it is at work. Then the test interrupts it.
COMMANDS = (
    ("demo", "--steps", "5000"),
    ("sim", "--swarm", "10000000"),
    ("mix", "--scale", "1"),
    ("bench", "kernels", "--seconds", "60", "--buffers", "cache"),
)
# These run until somebody stops them, so that Ctrl-C is their usual end.
ENDLESS = (("emulate", "--listen", "127.0.0.1:0"),)
# A command that ignores Ctrl-C runs for hours. The limit is long, so that a slow machine does not
# fail the test.
SECONDS = 100
SWITCHES = 50


def interrupt(binary, words, directory, allowed=(1, -signal.SIGINT)):
    """Returns what is wrong, or an empty string. `allowed` has the right exit statuses."""
    process = subprocess.Popen(
        [binary, *words], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        if not process.stdout.read(1):
            return "ended without output"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=SECONDS)
        status = process.returncode
    except subprocess.TimeoutExpired:
        return f"still ran {SECONDS} s later"
    finally:
        process.kill()
    if status not in allowed:
        return f"ended with status {status}"
    return "" if b"stopped" in said else f"did not say that it was stopped: {said}"


def interrupt_on_terminal(binary):
    """The message after Ctrl-C must take the place of the line that shows progress. Returns what is
    wrong, or an empty string."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    terminal, side = pty.openpty()
    words = ("--rank", "0", "--ranks", "1", "--rendezvous", place, "--rounds", "1000000")
    rank = subprocess.Popen(
        [binary, "verify", *words], stdout=subprocess.DEVNULL, stderr=side, start_new_session=True
    )
    os.close(side)
    said = b""
    try:
        while b" calls compared" not in said:
            said += os.read(terminal, 4096)
        rank.send_signal(signal.SIGINT)
        rank.wait(timeout=SECONDS)
        while True:
            said += os.read(terminal, 4096)
    except OSError:
        pass  # The rank has closed its side of the terminal.
    except subprocess.TimeoutExpired:
        return f"still ran {SECONDS} s later"
    finally:
        rank.kill()
        rank.wait()
        os.close(terminal)
    if b" calls compared\r\x1b[Kinfold verify: stopped on request" not in said:
        return f"wrote into the line: {said[-200:]}"
    return ""


class Load:
    """Connections that come and go at a switch, and processes beside it. They make more threads
    that could take a signal, at more moments."""

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
                with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as client:
                    client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
            except OSError:
                pass  # The switch is ending.


def terminate_switch(binary, moment):
    """A switch must notice SIGTERM whenever it comes. Returns what is wrong, or an empty string."""
    process = subprocess.Popen(
        [binary, "switch", "--listen", "127.0.0.1:0", "--json"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        address = json.loads(process.stdout.readline())["join"]
        with Load(int(address.rpartition(":")[2])):
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


def start(*words):
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


class Switch:
    """A switch whose log the test can wait for."""

    def __init__(self, binary):
        self.process = start(binary, "switch", "--listen", "127.0.0.1:0", "--json")
        self.address = json.loads(self.process.stdout.readline())["join"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def wait_for(self, text):
        for line in self.process.stderr:
            if text in line:
                return
        raise AssertionError(f"the switch ended before it said {text}")


def end_rank(rank, number):
    """A waiting rank must leave after the signal. Returns what is wrong, or an empty string."""
    try:
        rank.send_signal(number)
        _, said = rank.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"still waited {SECONDS} s later"
    finally:
        rank.kill()
    if rank.returncode != 1 or "stopped on request" not in said:
        return f"ended with status {rank.returncode}: {said}"
    return ""


def rank_words(binary, command, number, *where):
    return (
        binary,
        *command,
        "--rank",
        str(number),
        "--ranks",
        "2",
        "--deadline",
        "3600",
        "--shared-memory",
        "off",
        *where,
    )


def interrupt_joining(binary, command, number):
    """Interrupts a rank while it waits for rank 1, which never joins."""
    with Switch(binary) as switch:
        rank = start(*rank_words(binary, command, 0, "--switch", switch.address))
        switch.wait_for("rank_joined")
        return end_rank(rank, number)


def interrupt_rendezvous(binary, command, number):
    """Interrupts rank 0 while it waits for rank 1, in a job without a switch."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
    rank = start(*rank_words(binary, command, 0, "--rendezvous", place))
    host, _, port = place.rpartition(":")
    while rank.poll() is None:
        try:
            socket.create_connection((host, int(port)), timeout=SECONDS).close()
            break
        except ConnectionRefusedError:
            pass  # The rank is starting.
    return end_rank(rank, number)


def interrupt_call(binary, command, number):
    """Interrupts a rank during a call that waits for rank 1."""
    with Switch(binary) as switch:
        ranks = [
            start(*rank_words(binary, command, rank, "--switch", switch.address))
            for rank in range(2)
        ]
        try:
            ranks[0].stdout.readline()  # The rank has joined.
            ranks[1].send_signal(signal.SIGSTOP)
            return end_rank(ranks[0], number)
        finally:
            ranks[1].kill()
            ranks[1].communicate()


def interrupt_ranks(binary):
    failures = 0
    for command in (
        ("bench", "allreduce", "--iterations", "1000000"),
        ("verify", "--rounds", "1000000"),
    ):
        for case in (interrupt_joining, interrupt_rendezvous, interrupt_call):
            for number in (signal.SIGTERM, signal.SIGINT):
                problem = case(binary, command, number)
                print(
                    f"infold {' '.join(command)}, {case.__name__}, {number.name}: "
                    f"{problem or 'ended'}"
                )
                failures += problem != ""
    return failures


def main():
    failures = interrupt_ranks(sys.argv[1])
    for round_ in range(SWITCHES):
        problem = terminate_switch(sys.argv[1], round_ * 0.0007)
        if problem:
            print(f"infold switch, SIGTERM, {round_}: {problem}")
        failures += problem != ""
    problem = interrupt_on_terminal(sys.argv[1])
    print(f"infold verify on a terminal: {problem or 'ended'}")
    failures += problem != ""
    statuses = {words: (1, -signal.SIGINT) for words in COMMANDS} | {
        words: (0,) for words in ENDLESS
    }
    for words, allowed in statuses.items():
        with tempfile.TemporaryDirectory() as directory:
            problem = interrupt(sys.argv[1], words, directory, allowed)
        print(f"infold {' '.join(words)}: {problem or 'ended'}")
        failures += problem != ""
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
