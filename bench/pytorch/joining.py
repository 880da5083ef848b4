#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time until a group's first result: for the first collective of the default group,
and for many groups that are made and used in a row. All ranks are processes of this host with a
TCP store, as under torchrun. Needs the environment that `./dev example` makes:

    build/python/venv/bin/python bench/pytorch/joining.py --ranks 4 --groups 50 --rounds 5

Gloo and infold run in turn. Prints one JSON object per line, with the times of the slowest rank.
"""

import argparse
import json
import multiprocessing
import os
import socket
import time

import torch
import torch.distributed as dist

FORK = multiprocessing.get_context("fork")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--backends", default="gloo,infold", help="backends to measure, in turn")
    return parser.parse_args()


def milliseconds(action):
    begun = time.perf_counter()
    action()
    return 1e3 * (time.perf_counter() - begun)


def use(group=None):
    tensor = torch.ones(1024)
    dist.all_reduce(tensor, group=group)
    assert float(tensor[0]) == dist.get_world_size()


def wait_for_all(world):
    store = dist.distributed_c10d._get_default_store()
    if store.add("arrived", 1) == world:
        store.set("all arrived", "")
    store.wait(["all arrived"])


def be_rank(rank, backend, port, options, answers):
    torch.set_num_threads(1)
    made_ms = milliseconds(
        lambda: dist.init_process_group(
            backend, init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=options.ranks
        )
    )
    wait_for_all(options.ranks)
    first_ms = milliseconds(use)
    groups_ms = milliseconds(lambda: [use(dist.new_group()) for _ in range(options.groups)])
    answers.put(
        {
            "made_ms": made_ms,
            "first_ms": first_ms,
            "groups_ms": groups_ms,
            "cpu_ms": 1e3 * time.process_time(),
        }
    )
    dist.destroy_process_group()
    answers.close()
    answers.join_thread()
    os._exit(0)


def measure(backend, options):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    answers = FORK.Queue()
    ranks = [
        FORK.Process(target=be_rank, args=(rank, backend, port, options, answers))
        for rank in range(options.ranks)
    ]
    for rank in ranks:
        rank.start()
    said = [answers.get() for _ in ranks]
    for rank in ranks:
        rank.join()
    slowest = {name: round(max(each[name] for each in said), 1) for name in said[0]}
    print(
        json.dumps(
            {"backend": backend, "world": options.ranks, "groups": options.groups, **slowest}
        ),
        flush=True,
    )


def main():
    options = parse()
    import infold  # noqa: F401  registers the backend

    for _ in range(options.rounds):
        for backend in options.backends.split(","):
            measure(backend, options)


if __name__ == "__main__":
    main()
