# SPDX-License-Identifier: Apache-2.0
"""Ranks that share one device, for measurements beside Gloo. All are spawned once, because starting
PyTorch takes seconds; groups of fewer ranks are among them. Each group exists three times: over
Gloo, over infold in the host's memory, and over infold with a switch on loopback."""

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

# The ranks are processes that start anew, and also find the package there. In the repository, where
# a test rehearses this, the package is installed.
SITE = FOLDER / "site"
if SITE.exists():
    sys.path.insert(0, str(SITE))
    os.environ["PYTHONPATH"] = str(SITE)
PROGRAM = INFOLD if SITE.exists() else os.environ["INFOLD_BINARY"]

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402

import infold  # noqa: E402

SIZES = (2, 4)
GLOO, MEMORY, SWITCH = "gloo", "infold, memory", "infold, switch"
WAYS = (GLOO, MEMORY, SWITCH)
# Ranks beyond a group's size wait while the group measures. A hang is reported before the step's
# own limit ends it without a word.
TIMEOUT = datetime.timedelta(seconds=80)


@contextlib.contextmanager
def _running_switch():
    """The address of a switch on loopback."""
    with subprocess.Popen([PROGRAM, "switch", "--listen", "127.0.0.1:0", "--json", "--log-level",
                           "warn"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield json.loads(process.stdout.readline())["control"]
        finally:
            process.terminate()


def _groups(switch):
    """{(ranks, way): group}. Every rank makes every group."""
    made = {}
    for size in SIZES:
        ranks = list(range(size))
        made[size, GLOO] = dist.new_group(ranks, backend="gloo", timeout=TIMEOUT)
        for way, options in ((MEMORY, infold.Options()),
                             (SWITCH, infold.Options(switches=[switch], sites="switches",
                                                     shared_memory="off"))):
            made[size, way] = dist.new_group(ranks, backend="infold", pg_options=options,
                                             timeout=TIMEOUT)
    return made


def parse(description):
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true",
                        help="few steps and small tensors, to see that it runs; the figures say "
                        "nothing")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("no GPU here: torch.cuda.is_available() is False")
    return options


def _enter(rank, store, switch, options, body, answers):
    # As many threads as leave a processor for each driver and for the switch.
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // (2 * max(SIZES))))
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank,
                            world_size=max(SIZES), timeout=TIMEOUT)
    groups = _groups(switch)
    if options.device == "cuda":
        torch.cuda.set_device(0)
    answers[rank] = body(rank, groups, torch.device(options.device), options.small)
    synchronize(options.device)
    dist.destroy_process_group()


def run(body, options):
    """The answers of body(rank, groups, device, small), in the order of ranks."""
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Manager() as manager, \
            _running_switch() as switch:
        answers = manager.dict()
        multiprocessing.spawn(
            _enter, nprocs=max(SIZES),
            args=(os.path.join(folder, "store"), switch, options, body, answers))
        return [answers[rank] for rank in range(max(SIZES))]


def synchronize(device):
    if str(device).startswith("cuda"):
        torch.cuda.synchronize()


def timed_ms(action, device):
    """Milliseconds until the action's work is done, on the device too."""
    synchronize(device)
    begun = time.perf_counter()
    action()
    synchronize(device)
    return 1e3 * (time.perf_counter() - begun)


def median(values):
    return sorted(values)[len(values) // 2]


def show(**fields):
    """A figure. Times get three decimals."""
    print(json.dumps({name: round(value, 3) if isinstance(value, float) else value
                      for name, value in fields.items()}), flush=True)
