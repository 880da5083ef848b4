# SPDX-License-Identifier: Apache-2.0
"""A switch and ranks as real processes over loopback, for tests that end some of them."""

import re
import socket
import subprocess

# Whatever happens, everybody must have heard of it by then. The default deadline is 10 s.
PATIENCE = 60


def free_port():
    """A port that nobody has at this moment, neither of TCP nor of UDP."""
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        udp.bind(tcp.getsockname())
        return tcp.getsockname()[1]


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

    def start(self, *words):
        process = subprocess.Popen([self.binary, *words], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def start_switch(self, port, *words):
        switch = self.start("switch", "--listen", f"127.0.0.1:{port}", *words)
        line = switch.stdout.readline()
        if "packets at" not in line:
            raise RuntimeError(f"the switch says: {line}{switch.stderr.read()}")
        return switch

    def start_rank(self, rank, world, *words):
        return self.start("bench", "allreduce", "--rank", str(rank), "--world", str(world),
                          "--mtu", "1500", *words)


def outcome(process):
    """(exit status, everything it said) of a process that must end by itself."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out + err


def wait_for_sums(process):
    """Returns once a rank has printed a result, which rank 0 does after a first size."""
    for line in process.stdout:
        if re.match(r" *\d+ +\d+ ", line):
            return
    raise RuntimeError("rank 0 ended early: " + process.stderr.read())
