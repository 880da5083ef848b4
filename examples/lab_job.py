# SPDX-License-Identifier: Apache-2.0
"""Runs train.py on the hosts of a lab: a namespace for each rank, with links of a given rate."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tools" / "lab"))
import renamed

LAB = [sys.executable, str(ROOT / "tools" / "lab" / "lab.py")]
INFOLD = str(ROOT / "build" / "release" / "infold")
NAME = "infold-example"
FIRST_HOST = "10.77.0.1"
SWITCH = "10.77.0.254:7700"
# A rank that has not ended by then counts as hung.
LIMIT_S = 600


def parse(parser):
    """Parses the command line, and refuses old names of options with the new ones."""
    renamed.refuse(parser)
    return parser.parse_args()


@contextlib.contextmanager
def lab(world, rate, *words):
    # A request to end, for instance from timeout(1), takes the lab down as Ctrl-C does.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    down = [*LAB, "down", "--name", NAME]
    try:
        # If the lab belongs to another program, this fails and leaves it as it is.
        subprocess.run(
            [
                *LAB,
                "up",
                "--name",
                NAME,
                "--ranks",
                str(world),
                "--link",
                rate,
                "--congestion",
                "cubic",
                *words,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    except KeyboardInterrupt:
        subprocess.run(down, check=True, stdout=subprocess.DEVNULL)
        raise
    try:
        yield
    finally:
        subprocess.run(down, check=True, stdout=subprocess.DEVNULL)
        signal.signal(signal.SIGTERM, before)


def on_host(host, *command, **variables):
    return subprocess.Popen(
        [*LAB, "exec", "--name", NAME, str(host), *command],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | variables,
    )


@contextlib.contextmanager
def switch(*words):
    """Runs infold's aggregator in the switch's namespace."""
    process = on_host("switch", INFOLD, "switch", "--insecure", "--listen", SWITCH, *words)
    try:
        if "packets at" not in process.stdout.readline():
            raise RuntimeError("the switch did not start")
        yield SWITCH
    finally:
        process.terminate()
        process.communicate()


def train(world, *words, program="examples/train.py", on_step=lambda step: None, **variables):
    """Trains with a process on each host. Calls on_step with the object of each step, and returns
    rank 0's last object."""
    variables = {
        "MASTER_ADDR": FIRST_HOST,
        "MASTER_PORT": "29500",
        "WORLD_SIZE": str(world),
        "GLOO_SOCKET_IFNAME": "eth0",
        # The hosts have no names, and torch would warn about that at each connection.
        "TORCH_CPP_LOG_LEVEL": "ERROR",
    } | variables
    ranks = [
        on_host(rank, sys.executable, str(ROOT / program), *words, **variables, RANK=str(rank))
        for rank in range(world)
    ]
    last = {}
    try:
        for line in ranks[0].stdout:
            last = json.loads(line)
            if "step" in last:
                on_step(last)
        for rank in ranks:
            if rank.wait(LIMIT_S) != 0:
                raise RuntimeError("a rank failed; its output is above")
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
    return last


def measure(ways, world, rate, rounds, **variables):
    """Trains `rounds` times in each way, in turn, with a switch. A way consists of options of
    train(). Returns a result for each way, with the median of each figure."""
    results = {name: [] for name in ways}
    with lab(world, rate), switch() as address:
        for _ in range(rounds):
            for name, (words, options) in ways.items():
                settings = {"INFOLD_SWITCHES": address} | variables | options
                results[name].append(train(world, *words, on_step=show_step(name), **settings))
    return {name: _median_of(each) for name, each in results.items()}


def _median_of(results):
    middle = dict(results[0])
    for key in ("step_s", "compute_s", "received_bytes"):
        middle[key] = sorted(each[key] for each in results)[len(results) // 2]
    return middle


def compare(results, world, rate):
    """Prints an object for each way, with its speed as a multiple of the first way's."""
    first = next(iter(results.values()))["step_s"]
    for name, each in results.items():
        print(
            json.dumps(
                {
                    "way": name,
                    "world": world,
                    "rate": rate,
                    "step_s": round(each["step_s"], 4),
                    "times": round(first / each["step_s"], 3),
                    "compute_s": round(each["compute_s"], 4),
                    "received_mb": round(each["received_bytes"] / 1e6, 3),
                }
            )
        )


def show_step(name):
    def show(step):
        print(
            f"  {name}: step {step['step']}, loss {step['loss']:.3f}, {step['seconds']:.2f} s",
            flush=True,
        )

    return show


def need_root():
    if os.geteuid() != 0:
        sys.exit("this example needs root to make a network of namespaces: run it with sudo")
