#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts switches that choose their port while few ports are free, in a network namespace of this
process.

Usage: ports_test.py INFOLD
"""

import ctypes
import os
import socket
import subprocess
import sys

from processes import Job, expect, run_each

CLONE_NEWNET = 0x40000000
SKIPPED = 77
STARTS = 8


def enter_own_network(ports):
    """Enters a network in which the kernel gives out only these ports."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        print(f"skipped: no network of its own: {os.strerror(ctypes.get_errno())}")
        sys.exit(SKIPPED)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with open("/proc/sys/net/ipv4/ip_local_port_range", "w", encoding="ascii") as limits:
        limits.write(f"{ports[0]} {ports[-1]}")


def a_port_taken_over_tcp_is_passed_by(binary):
    taken, free = ports = (40000, 40001)
    enter_own_network(ports)
    with socket.create_server(("127.0.0.1", taken)):
        for _ in range(STARTS):
            with Job(binary) as job:
                switch = job.start("switch", "--listen", "127.0.0.1:0")
                line = switch.stdout.readline()
                expect(f"127.0.0.1:{free}" in line, f"the switch says: {line}")


if __name__ == "__main__":
    sys.exit(run_each(a_port_taken_over_tcp_is_passed_by))
