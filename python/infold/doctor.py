# SPDX-License-Identifier: Apache-2.0
"""Checks that infold works here: connects to the switches, measures a small and a large all-reduce,
and prints which path tensors take.

    python -m infold.doctor                                         starts two ranks here
    torchrun --nproc-per-node 1 --nnodes 4 ... -m infold.doctor     the ranks of a job

Options come from the variables INFOLD_SWITCHES and so on, or from INFOLD_CONFIG, as in a job.
Findings have the form of `infold doctor`, which examines the machine: a line that begins with WARN
ends with advice, and --json prints an object on each line. Exit codes: 0 all is well, 1 a check
failed.
"""

import argparse
import json
import multiprocessing
import os
import socket
import sys
import tempfile
import time

try:
    import torch
    import torch.distributed as dist
except ImportError:
    sys.exit(
        "infold.doctor examines PyTorch's backend, and torch is not installed; "
        "`infold doctor` examines the machine"
    )

import infold
from infold import _build, _switches
from infold import options as _options

_REACH_S = 5
_SMALL_ELEMENTS = 1024
_LARGE_ELEMENTS = 25 * (1 << 20) // 4


def _finding(name, found, advice=""):
    """Prints a finding, as a warning if it has advice."""
    if "--json" in sys.argv[1:]:
        print(
            json.dumps({"name": name, "ok": not advice, "found": found, "advice": advice}),
            flush=True,
        )
    elif advice:
        print(f"WARN  {name}: {found}; {advice}", flush=True)
    else:
        print(f"OK    {name}: {found}", flush=True)


def _reach(address):
    """The milliseconds that a TCP handshake takes, or the reason why it failed."""
    host, _, port = address.rpartition(":")
    begin = time.perf_counter()
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S):
            return 1000 * (time.perf_counter() - begin), ""
    except (OSError, ValueError) as error:
        return None, str(error)


def _median_ms(tensor, repeats):
    times = []
    for _ in range(repeats):
        dist.barrier()
        begin = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(1000 * (time.perf_counter() - begin))
    return sorted(times)[len(times) // 2]


def path_text(statistics, settled):
    """A sentence about the path of a group's tensors."""
    ranks = statistics["ranks_in_memory"]
    on_network = statistics["contributions_on_network"]
    if on_network == 0:
        return f"memory: all {ranks} ranks are on one host and sum there; the network is not used"
    places = {"workers": "the ranks themselves (no switch)", "mixed": "switches and ranks"}
    where = places.get(
        settled["sites"], "switch " + ", ".join(_switches.places(settled["switches"]))
    )
    leaves = f", packets leave from {statistics['interface']}" if statistics["interface"] else ""
    first = f"; {ranks} ranks sum in their hosts' memory first" if ranks else ""
    return f"network: {on_network} contributions are summed at {where}{first}{leaves}"


def _examine(settled):
    """The measurements, which all ranks make and rank 0 prints."""
    small = _median_ms(torch.zeros(_SMALL_ELEMENTS), 30)
    large = _median_ms(torch.ones(_LARGE_ELEMENTS), 5)
    right = torch.full((1000,), float(dist.get_rank()))
    dist.all_reduce(right)
    world = dist.get_world_size()
    is_right = bool((right == world * (world - 1) / 2).all())
    if dist.get_rank() == 0:
        _finding("path", path_text(infold.statistics(), settled))
        _finding("4 KiB", f"{small:.3f} ms, {world} ranks")
        _finding("25 MiB", f"{large:.1f} ms, {8 * 26.2144 / large:.2f} Gbit/s of tensor")
        if is_right:
            _finding("sums", "right")
        else:
            _finding("sums", "wrong", "run infold verify on every rank to find where")
    return is_right


def _own_rank(rank, world, folder):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
    dist.init_process_group(
        "infold", init_method=f"file://{folder}/store", rank=rank, world_size=world
    )
    is_right = _examine(_options.settle(None))
    dist.destroy_process_group()
    sys.exit(0 if is_right else 1)


def _with_own_ranks():
    # The ranks share a host, but the network is to be measured.
    os.environ.setdefault("INFOLD_SHARED_MEMORY", "off")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [
            multiprocessing.get_context("fork").Process(target=_own_rank, args=(rank, 2, folder))
            for rank in range(2)
        ]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
    return all(rank.exitcode == 0 for rank in ranks)


def main():
    parser = argparse.ArgumentParser(
        prog="python -m infold.doctor",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print each finding as an object")
    parser.parse_args()
    try:
        settled = _options.settle(None)
    except ValueError as error:
        _finding("options", str(error), "mend the variable or the file that it names")
        return 1
    speaks = int(os.environ.get("RANK", "0")) == 0
    if speaks:
        _finding(
            "infold",
            f"{infold.__version__}, built against torch "
            f"{' and '.join(_build.TORCH_VERSIONS)}; this is torch {torch.__version__}",
        )
        if not settled["switches"]:
            _finding("switches", "none named (INFOLD_SWITCHES): the ranks sum for each other")
    try:
        places = _switches.places(settled["switches"])
    except ValueError as error:
        _finding("switches", str(error), "mend the file that INFOLD_SWITCHES names")
        return 1
    for address in places:
        took, why = _reach(address)
        if speaks and took is not None:
            _finding("switch", f"{address} answers in {took:.2f} ms")
        elif speaks:
            _finding(
                "switch",
                f"{address} does not answer: {why}",
                "check that it runs and that its TCP port is open",
            )
        if took is None:
            return 1
    try:
        if "WORLD_SIZE" not in os.environ:
            return 0 if _with_own_ranks() else 1
        dist.init_process_group("infold")
        is_right = _examine(settled)
        dist.destroy_process_group()
        return 0 if is_right else 1
    except (RuntimeError, ValueError) as error:
        _finding("job", str(error), "mend this before a training starts")
        return 1


if __name__ == "__main__":
    sys.exit(main())
