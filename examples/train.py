# SPDX-License-Identifier: Apache-2.0
"""One rank of a data-parallel training job, as anyone would write it. Nothing in it knows infold
but the name of the backend, and, if asked for, one line for a smaller wire format.

Ranks are numbered by RANK and WORLD_SIZE and meet at MASTER_ADDR, as under torchrun. Rank 0 prints
one JSON object for each step and one at the end.
"""

import argparse
import json
import os
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

# Steps whose times are left out: DDP forms its buckets anew after the first.
WARM_UP = 2


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="gloo", choices=["gloo", "infold"])
    parser.add_argument("--wire", default="", choices=["", "bfp32", "bfp16", "bfp8"],
                        help="how gradients travel, with infold")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=16, help="samples of each rank")
    parser.add_argument("--width", type=int, default=2048, help="of the hidden layers")
    return parser.parse_args()


def make_model(width):
    """6.3 million parameters, which are 25 MB of gradients in each step."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(1024, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
                         nn.Linear(width, 10))


def batches(rank, size):
    """Samples whose label a fixed random projection decides; another part of them at each rank."""
    generator = torch.Generator().manual_seed(100 + rank)
    teacher = torch.randn(1024, 10, generator=torch.Generator().manual_seed(7))
    while True:
        samples = torch.randn(size, 1024, generator=generator)
        yield samples, (samples @ teacher).argmax(1)


def step(model, optimizer, samples, labels):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(samples), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def seconds_of(action):
    begin = time.perf_counter()
    answer = action()
    return time.perf_counter() - begin, answer


def main():
    options = parse()
    torch.set_num_threads(1)
    if options.backend == "infold":
        import infold
    dist.init_process_group(options.backend)
    rank = dist.get_rank()
    model = DistributedDataParallel(make_model(options.width))
    if options.wire:
        model.register_comm_hook(None, infold.hooks.wire(options.wire))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = batches(rank, options.batch)
    whole, alone = [], []
    for number in range(options.steps + WARM_UP):
        seconds, loss = seconds_of(lambda: step(model, optimizer, *next(data)))
        if number >= WARM_UP:
            whole.append(seconds)
            if rank == 0:
                print(json.dumps({"step": number - WARM_UP, "seconds": seconds, "loss": loss}),
                      flush=True)
    # The same steps without their sums: what the machine itself needs, all ranks at once.
    for number in range(options.steps):
        dist.barrier()
        with model.no_sync():
            alone.append(seconds_of(lambda: step(model, optimizer, *next(data)))[0])
    if rank == 0:
        parameters = sum(each.numel() for each in model.parameters())
        print(json.dumps({"backend": options.backend, "wire": options.wire,
                          "world": dist.get_world_size(), "gradient_bytes": 4 * parameters,
                          "step_s": sorted(whole)[len(whole) // 2],
                          "compute_s": sorted(alone)[len(alone) // 2],
                          "interface": os.environ.get("INFOLD_SWITCHES", "")}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
