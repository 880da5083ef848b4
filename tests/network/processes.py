# SPDX-License-Identifier: Apache-2.0
"""Runs a switch and ranks as real processes over loopback, for tests that end some of them."""

import contextlib
import itertools
import os
import re
import socket
import subprocess
import sys
import time

# By then every process must have heard of any event. The default deadline is 10 s.
PATIENCE = 240
# The sizes that a rank sums: first one that ends soon, then so many large ones that the test does
# not wait for their end.
SHORT_THEN_LONG = ("--bytes", "64" + 60 * ",1000000", "--iterations", "3000")


# The system gives ports from 32,768 on to sockets that ask for none. Each process begins at another
# port, so that tests at the same time try different ports first.
_ports = itertools.count(16 * os.getpid())


def free_port():
    """Returns a port that no process has now, of TCP or UDP, and that the system never gives
    out."""
    while True:
        address = ("127.0.0.1", 10_000 + next(_ports) % 22_000)
        with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
            with contextlib.suppress(OSError):
                tcp.bind(address)
                udp.bind(address)
                return address[1]


@contextlib.contextmanager
def held(port):
    """Keeps the port, so that no other test's switch gets it. Ranks that look for a killed switch
    must not find that switch."""
    with socket.socket() as tcp:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind(("127.0.0.1", port))
        yield


class Job:
    """Processes of one test; those still alive at its end are killed."""

    def __init__(self, binary):
        self.binary = binary
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()

    def start(self, *words, **variables):
        process = subprocess.Popen(
            [self.binary, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )
        self.processes.append(process)
        return process

    def start_switch(self, port, *words):
        switch = self.start("switch", "--listen", f"127.0.0.1:{port}", *words)
        line = switch.stdout.readline()
        if "packets at" not in line:
            raise RuntimeError(f"the switch says: {line}{switch.stderr.read()}")
        return switch

    def start_rank(self, rank, world, *words, host=""):
        """Starts a rank. Ranks with different words for `host` share no memory."""
        return self.start(
            "bench",
            "allreduce",
            "--rank",
            str(rank),
            "--ranks",
            str(world),
            "--mtu",
            "1500",
            *words,
            INFOLD_HOST=host,
            INFOLD_SHARED_MEMORY="always",
        )


def unusual(log):
    """Returns the log of a switch, without the lines that every switch writes about itself, ranks
    and jobs."""
    usual = re.compile(r"\S+ info (switch_|rank_|job_)")
    return "".join(line for line in log.splitlines(True) if not usual.match(line))


def outcome(process):
    """Returns (exit status, all output) of a process that must end by itself."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out + err


def kill_all(processes):
    for process in processes:
        process.kill()
    for process in processes:
        process.wait(PATIENCE)


def wait_for_sums(process):
    """Waits until a rank has printed a result, as rank 0 does after a first size. Returns its first
    line, which names the path in use, and this line."""
    first = ""
    for line in process.stdout:
        first = first or line
        if re.match(r" *\d\S*B +\d+ ", line):
            return first, line
    raise RuntimeError("rank 0 ended early: " + process.stderr.read())


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def wait_until(condition, otherwise):
    """Polls until the condition holds. After a long time, that is a failure with this name."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < deadline, otherwise)
        time.sleep(0.01)


def expect_comeback(outcomes_of_a_job):
    """Expects that a job whose switch is killed and started again ends in one of two ways. Either
    all its sums are right, or it says that one rank has finished a sum that another has not. The
    second needs an unlucky moment, which does not come five times. The argument runs such a job,
    and returns the outcomes of all ranks."""
    for _ in range(5):
        ends = outcomes_of_a_job()
        if all(status == 0 for status, _ in ends):
            return
        expect(all("cannot go on after it lost a switch" in said for _, said in ends), ends)
    expect(False, "no job has come back")


def run_each(*tests):
    """Runs every test with the program under test, prints the outcome of each, and returns the
    status."""
    failures = 0
    for test in tests:
        try:
            test(sys.argv[1])
            print(f"{test.__name__}: passed")
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failures += 1
            print(f"{test.__name__}: FAILED: {error}")
    return 1 if failures else 0
