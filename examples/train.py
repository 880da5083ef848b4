# SPDX-License-Identifier: Apache-2.0
"""One rank of an ordinary data-parallel training job. Only the name of the backend and, with
--format, one line for a smaller wire format come from infold.

RANK and WORLD_SIZE number the ranks, which meet at MASTER_ADDR, as under torchrun. training.py
describes the output of rank 0.
"""

import argparse

import torch
import torch.distributed as dist
import training
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="gloo", choices=["gloo", "infold"])
    parser.add_argument(
        "--format",
        default="",
        choices=["", "bfp32", "bfp16", "bfp8"],
        help="wire format of gradients, with infold",
    )
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=16, help="samples of each rank")
    parser.add_argument("--width", type=int, default=2048, help="width of the hidden layers")
    parser.add_argument(
        "--record",
        default="",
        metavar="PATH",
        help="record the measured steps into PATH.RANK.et, with infold",
    )
    return parser.parse_args()


def make_model(width):
    """Makes 6.3 million parameters, which are 25 MB of gradients in each step."""
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(1024, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10)
    )


def batches(rank, size):
    """Yields samples whose labels come from a fixed random projection. Each rank has different
    samples."""
    generator = torch.Generator().manual_seed(100 + rank)
    teacher = torch.randn(1024, 10, generator=torch.Generator().manual_seed(7))
    while True:
        samples = torch.randn(size, 1024, generator=generator)
        yield samples, (samples @ teacher).argmax(1)


def main():
    options = parse()
    torch.set_num_threads(1)
    if options.record and options.backend != "infold":
        raise SystemExit("--record needs --backend infold, because infold records its own calls")
    if options.backend == "infold":
        import infold
    dist.init_process_group(options.backend)
    model = DistributedDataParallel(make_model(options.width))
    if options.format:
        model.register_comm_hook(None, infold.hooks.wire(options.format))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    training.train(
        model,
        optimizer,
        nn.functional.cross_entropy,
        batches(dist.get_rank(), options.batch),
        options.steps,
        options.record,
        backend=options.backend,
        wire=options.format,
    )
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
