# SPDX-License-Identifier: Apache-2.0
"""A P4 device that takes the place of a lab's bridge: BMv2, which has no program until a controller
gives it one. Its port R+1 leads to rank R, and the port after the ranks' to the switch's own
host."""

import pathlib
import shutil
import subprocess
import sys
import time

from links import LabError, Unavailable

PROGRAM = "simple_switch_grpc"
HOST_PORT = "hostport"
P4RUNTIME = "127.0.0.1:9559"
CONTROLLER_PORT = 510  # the same as in planes/p4/pipeline/targets/v1model
START_S = 60


def require():
    if shutil.which(PROGRAM) is None:
        raise Unavailable(
            f"{PROGRAM} is missing, which is the P4 device of the lab: "
            "docs/switches/p4.md says where it comes from"
        )


def runs(namespace):
    listed = subprocess.run(
        ["ip", "netns", "pids", namespace], check=False, capture_output=True, text=True
    ).stdout
    names = []
    for pid in listed.split():
        path = pathlib.Path(f"/proc/{pid}/cmdline")
        names.append(path.read_bytes().split(b"\0")[0] if path.exists() else b"")
    return any(name.decode().endswith(PROGRAM) for name in names)


def start(namespace, world):
    """Starts the device, and returns when its P4Runtime server answers."""
    ports = [f"{rank + 1}@port{rank}" for rank in range(world)] + [f"{world + 1}@{HOST_PORT}"]
    words = [word for port in ports for word in ("-i", port)]
    device = subprocess.Popen(
        [
            "ip",
            "netns",
            "exec",
            namespace,
            PROGRAM,
            "--no-p4",
            *words,
            "--log-level",
            "error",
            "--",
            "--grpc-server-addr",
            P4RUNTIME,
            "--cpu-port",
            str(CONTROLLER_PORT),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    host, port = P4RUNTIME.split(":")
    deadline = time.monotonic() + START_S
    look = [
        "ip",
        "netns",
        "exec",
        namespace,
        sys.executable,
        "-c",
        f"import socket; socket.create_connection(('{host}', {port}), 1)",
    ]
    while subprocess.run(look, check=False, capture_output=True).returncode != 0:
        if device.poll() is not None or time.monotonic() > deadline:
            raise LabError(f"{PROGRAM} did not start, or its P4Runtime server does not answer")
