#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Would a switch help a cluster that you do not have? Trains one rank of a job on this machine,
while infold emulate plays the others, and records it. Then predicts the step on the cluster's
network. Takes a minute and needs no root."""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lab_job

# A program that has not ended by then counts as hung.
LIMIT_S = 600


def parse():
    parser = argparse.ArgumentParser(prog="./dev example whatif", description=__doc__)
    parser.add_argument("--ranks", type=int, default=8, help="ranks of the cluster, 2 to 64")
    parser.add_argument("--link", default="1G", help="rate of the cluster's links")
    parser.add_argument("--rtt-us", default="50", help="microseconds from host to host and back")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--width", type=int, default=2048, help="width of the model's layers")
    parser.add_argument("--batch", type=int, default=64, help="samples of each rank")
    parser.add_argument(
        "--out",
        default="whatif",
        metavar="PREFIX",
        help="first part of the names of the trace and the pictures",
    )
    options = lab_job.parse(parser)
    if not 2 <= options.ranks <= 64:
        parser.error("--ranks is from 2 to 64")
    return options


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@contextlib.contextmanager
def emulator(world):
    """Plays the switch and all ranks but the first. Yields the address to join at."""
    process = subprocess.Popen(
        [
            lab_job.INFOLD,
            "emulate",
            "--listen",
            "127.0.0.1:0",
            "--ranks",
            str(world),
            "--real",
            "1",
            "--json",
            "--log-level",
            "error",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        if not line:
            raise RuntimeError("the emulator did not start; its message is above")
        yield json.loads(line)["listen"]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LIMIT_S)


def record(options):
    """Trains one rank, whose trace becomes OUT.0.et."""
    with emulator(options.ranks) as address:
        variables = {
            "INFOLD_SWITCHES": address,
            "INFOLD_REAL_RANKS": "1",
            "RANK": "0",
            "WORLD_SIZE": str(options.ranks),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(free_port()),
            "TORCH_CPP_LOG_LEVEL": "ERROR",
        }
        subprocess.run(
            [
                sys.executable,
                str(lab_job.ROOT / "examples" / "train.py"),
                "--backend",
                "infold",
                "--steps",
                str(options.steps),
                "--width",
                str(options.width),
                "--batch",
                str(options.batch),
                "--record",
                options.out,
            ],
            check=True,
            timeout=LIMIT_S,
            stdout=subprocess.DEVNULL,
            env=os.environ | variables,
        )


def predict(options, *words):
    command = [
        lab_job.INFOLD,
        "whatif",
        f"{options.out}.0.et",
        "--link",
        options.link,
        "--rtt-us",
        options.rtt_us,
        *words,
    ]
    print(f"\n$ infold {' '.join(command[1:])}", flush=True)
    subprocess.run(command, check=True, timeout=LIMIT_S)


def main():
    options = parse()
    print(f"one rank trains here, and {options.ranks - 1} are emulated ...", flush=True)
    try:
        record(options)
        predict(options, "--svg", f"{options.out}.svg")
        predict(options, "--sweep", "link=100M,1G,10G,25G", "--svg", f"{options.out}-rate.svg")
        predict(options, "--sweep", "ranks=2,4,8,16,32", "--svg", f"{options.out}-ranks.svg")
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"the example ended early: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
