# SPDX-License-Identifier: Apache-2.0
"""Checks that infold works here: connects to the switches, measures a small and a large all-reduce,
and prints which path tensors take.

    python -m infold.doctor                                         starts two ranks here
    torchrun --nproc-per-node 1 --nnodes 4 ... -m infold.doctor     the ranks of a job

Options come from the variables INFOLD_SWITCHES and so on, or from INFOLD_CONFIG, as in a job.
Exit codes: 0 all is well, 1 a check failed, and the output says which.
"""

import argparse
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
    sys.exit("infold.doctor examines PyTorch's backend, and torch is not installed; "
             "`infold doctor` examines the machine")

import infold
from infold import _build
from infold import options as _options

_REACH_S = 5
_SMALL_ELEMENTS = 1024
_LARGE_ELEMENTS = 25 * (1 << 20) // 4


def _reach(address):
    """Milliseconds of a TCP handshake, or the reason why it failed."""
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
    where = places.get(settled["sites"], "switch " + ", ".join(settled["switches"]))
    leaves = f", packets leave from {statistics['interface']}" if statistics["interface"] else ""
    first = f"; {ranks} ranks sum in their hosts' memory first" if ranks else ""
    return f"network: {on_network} contributions are summed at {where}{first}{leaves}"


def _examine(settled):
    """The part that all ranks do; rank 0 prints."""
    small = _median_ms(torch.zeros(_SMALL_ELEMENTS), 30)
    large = _median_ms(torch.ones(_LARGE_ELEMENTS), 5)
    right = torch.full((1000,), float(dist.get_rank()))
    dist.all_reduce(right)
    world = dist.get_world_size()
    is_right = bool((right == world * (world - 1) / 2).all())
    if dist.get_rank() == 0:
        print(f"path      {path_text(infold.statistics(), settled)}")
        print(f"4 KiB     {small:.3f} ms, {world} ranks")
        print(f"25 MiB    {large:.1f} ms, {8 * 26.2144 / large:.2f} Gbit/s of tensor")
        print("sums      " + ("right" if is_right else
                              "WRONG; run infold verify on every rank to find where"))
    return is_right


def _own_rank(rank, world, folder):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
    dist.init_process_group("infold", init_method=f"file://{folder}/store", rank=rank,
                            world_size=world)
    is_right = _examine(_options.settle(None))
    dist.destroy_process_group()
    sys.exit(0 if is_right else 1)


def _with_own_ranks():
    # Over the network, which is to be measured, though the ranks share a host.
    os.environ.setdefault("INFOLD_SHARED_MEMORY", "off")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [multiprocessing.get_context("fork").Process(target=_own_rank,
                                                             args=(rank, 2, folder))
                 for rank in range(2)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
    return all(rank.exitcode == 0 for rank in ranks)


def main():
    argparse.ArgumentParser(prog="python -m infold.doctor", description=__doc__,
                            formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    try:
        settled = _options.settle(None)
    except ValueError as error:
        print(error)
        return 1
    speaks = int(os.environ.get("RANK", "0")) == 0
    if speaks:
        print(f"infold    {infold.__version__}, built against torch "
              f"{' and '.join(_build.TORCH_VERSIONS)}; "
              f"this is torch {torch.__version__}")
        if not settled["switches"]:
            print("switches  none named (INFOLD_SWITCHES): the ranks sum for each other")
    for address in settled["switches"]:
        took, why = _reach(address)
        if speaks:
            print(f"switch    {address}: " + (f"answers in {took:.2f} ms" if took else
                                              f"does not answer: {why}; check that "
                                              "it runs and that its TCP port is open"), flush=True)
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
        print(error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
