# SPDX-License-Identifier: Apache-2.0
"""One rank of measure.py: a small all_reduce, or a training step in which a sleep stands for the
computation. Rank 0 prints one JSON object."""

import argparse
import json
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WARM_UP = 2
LAYERS = 16
# This makes 25 MB of gradients in total, and one bucket per layer.
WIDTH = 626
BUCKET_MB = 1


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["small", "overlap"])
    parser.add_argument("--backend", default="infold", choices=["gloo", "infold"])
    parser.add_argument("--iterations", type=int, default=500)
    parser.add_argument(
        "--compute",
        type=float,
        default=0.0,
        help="seconds of a backward pass, during which the processor is idle",
    )
    return parser.parse_args()


def median(values):
    return sorted(values)[len(values) // 2]


class _Accelerator(torch.autograd.Function):
    """Takes time in the backward pass without using the processor, as a GPU does."""

    @staticmethod
    def forward(context, tensor, seconds):
        context.seconds = seconds
        return tensor.clone()

    @staticmethod
    def backward(context, gradient):
        time.sleep(context.seconds)
        return gradient, None


class _Layer(nn.Module):
    def __init__(self, seconds):
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.seconds = seconds

    def forward(self, tensor):
        return self.linear(_Accelerator.apply(tensor, self.seconds))


def small(options):
    tensor = torch.zeros(1024)
    times = []
    for _ in range(options.iterations):
        begin = time.perf_counter()
        dist.all_reduce(tensor)
        times.append(time.perf_counter() - begin)
    return {"median_us": 1e6 * median(times[len(times) // 10 :])}


def overlap(options):
    layers = [_Layer(options.compute / LAYERS) for _ in range(LAYERS)]
    model = DistributedDataParallel(nn.Sequential(*layers), bucket_cap_mb=BUCKET_MB)
    samples = torch.randn(1, WIDTH)

    def step():
        begin = time.perf_counter()
        model(samples).sum().backward()
        return time.perf_counter() - begin

    times = [step() for _ in range(options.iterations + WARM_UP)][WARM_UP:]
    with model.no_sync():
        alone = [step() for _ in range(3)]
    return {"step_s": median(times), "compute_s": median(alone)}


def main():
    options = parse()
    torch.set_num_threads(1)
    if options.backend == "infold":
        import infold  # noqa: F401  registers the backend
    dist.init_process_group(options.backend)
    result = (small if options.what == "small" else overlap)(options)
    if dist.get_rank() == 0:
        print(json.dumps(result | {"backend": options.backend, "what": options.what}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
