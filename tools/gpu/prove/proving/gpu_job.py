# SPDX-License-Identifier: Apache-2.0
"""Runs ranks that share one device, to measure infold beside Gloo. All ranks are spawned once,
because starting PyTorch takes seconds; smaller groups are formed among them. Each group exists
three times: over Gloo, over infold in the host's memory, and over infold with a switch on
loopback."""

import argparse
import contextlib
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

from steps import FOLDER, INFOLD

# The ranks are new processes, which have to find the package as well. In the repository, where a
# test rehearses this, the package is installed.
SITE = FOLDER / "site"
if SITE.exists():
    sys.path.insert(0, str(SITE))
    os.environ["PYTHONPATH"] = str(SITE)
PROGRAM = INFOLD if SITE.exists() else os.environ["INFOLD_BINARY"]

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

import infold

SIZES = (2, 4)
GLOO, MEMORY, SWITCH = "gloo", "infold, memory", "infold, switch"
WAYS = (GLOO, MEMORY, SWITCH)
# Ranks beyond a group's size wait while the group measures. This timeout reports a hang before the
# step's own limit ends it without a message.
TIMEOUT = datetime.timedelta(seconds=80)


@contextlib.contextmanager
def _running_switch():
    """Runs a switch on loopback, and yields its address."""
    with subprocess.Popen(
        [PROGRAM, "switch", "--listen", "127.0.0.1:0", "--json", "--log-level", "warn"],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield json.loads(process.stdout.readline())["join"]
        finally:
            process.terminate()


def _groups(switch):
    """Returns {(ranks, way): group}. Every rank makes every group."""
    made = {}
    for size in SIZES:
        ranks = list(range(size))
        made[size, GLOO] = dist.new_group(ranks, backend="gloo", timeout=TIMEOUT)
        for way, options in (
            (MEMORY, infold.Options()),
            (SWITCH, infold.Options(switches=[switch], sites="switches", shared_memory="off")),
        ):
            made[size, way] = dist.new_group(
                ranks, backend="infold", pg_options=options, timeout=TIMEOUT
            )
    return made


def parse(description):
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument(
        "--small",
        action="store_true",
        help="few steps and small tensors, to see that it runs; the figures say nothing",
    )
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("no GPU here: torch.cuda.is_available() is False")
    return options


def _enter(rank, store, switch, options, body, answers):
    # Leave processors for the drivers and for the switch.
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // (2 * max(SIZES))))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=max(SIZES), timeout=TIMEOUT
    )
    groups = _groups(switch)
    if options.device == "cuda":
        torch.cuda.set_device(0)
    answers[rank] = body(rank, groups, torch.device(options.device), options.small)
    synchronize(options.device)
    dist.destroy_process_group()


def run(body, options):
    """Returns what body(rank, groups, device, small) returns, in the order of the ranks."""
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.Manager() as manager,
        _running_switch() as switch,
    ):
        answers = manager.dict()
        multiprocessing.spawn(
            _enter,
            nprocs=max(SIZES),
            args=(os.path.join(folder, "store"), switch, options, body, answers),
        )
        return [answers[rank] for rank in range(max(SIZES))]


def synchronize(device):
    if str(device).startswith("cuda"):
        torch.cuda.synchronize()


def timed_ms(action, device):
    """Returns the milliseconds until the action's work is done, on the device as well."""
    synchronize(device)
    begun = time.perf_counter()
    action()
    synchronize(device)
    return 1e3 * (time.perf_counter() - begun)


def median(values):
    return sorted(values)[len(values) // 2]


def show(**fields):
    """Prints a figure as a line of JSON. Times get three decimals."""
    print(
        json.dumps(
            {
                name: round(value, 3) if isinstance(value, float) else value
                for name, value in fields.items()
            }
        ),
        flush=True,
    )
