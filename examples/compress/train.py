# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that learns to read digits, once for each way in which gradients travel. All
ways begin with the same model and see the same pictures.

Rank 0 prints one JSON object for each test.
"""

import argparse
import json
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import infold

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import digits
import own
import race

RATE = 0.05  # the learning rate
TESTS = 256  # at each rank

# The hook that each way registers with a DistributedDataParallel.
HOOKS = {
    "f32": None,
    "bfp16": infold.hooks.wire("bfp16"),
    "bfp8": infold.hooks.wire("bfp8"),
    "shared": infold.compress.hook("shared", bits=8),
    "thc": infold.compress.hook("thc", bits=4, memory="residual"),
    "sign": infold.compress.hook("scaledsign", memory="ef-sign", memory_settings={"rate": RATE}),
    "topk": infold.compress.hook("topk", ratio=0.01, memory="residual"),
    "topk-forgets": infold.compress.hook("topk", ratio=0.01),
}


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ways", default="f32", help="names of HOOKS and mine, with commas")
    parser.add_argument("--mine", help="the file with a compressor of your own")
    parser.add_argument("--goal", type=float, default=0.9)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--batch", type=int, default=32, help="pictures of each rank")
    parser.add_argument("--width", type=int, default=768, help="width of the first hidden layer")
    return parser.parse_args()


def make_model(width):
    """Makes 740 thousand parameters, which are 3 MB of gradients in each step."""
    torch.manual_seed(1)
    layers = [
        nn.Linear(digits.SIDE**2, width),
        nn.Linear(width, width // 2),
        nn.Linear(width // 2, 10),
    ]
    for layer in layers:
        nn.init.kaiming_normal_(layer.weight)
    return nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])


def make_job(hook, options):
    rank = dist.get_rank()
    model = DistributedDataParallel(make_model(options.width))
    if hook:
        model.register_comm_hook(None, hook)
    pictures, labels = digits.batch(TESTS, torch.Generator().manual_seed(1000 + rank))
    return race.Job(
        model=model,
        # There is no momentum, so nothing but the compressors' memories remembers past gradients.
        optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
        loss_of=nn.functional.cross_entropy,
        batches=digits.batches(options.batch, seed=100 + rank),
        count_right=lambda: ((model.module(pictures).argmax(1) == labels).sum().item(), TESTS),
    )


def main():
    options = parse()
    torch.set_num_threads(1)
    dist.init_process_group("infold")
    hooks = dict(HOOKS)
    if options.mine:
        hooks["mine"] = own.make_hook(own.load(options.mine))
    rules = race.Rules(goal=options.goal, seconds=options.seconds, steps=options.steps)
    for way in options.ways.split(","):
        try:
            for numbers in race.run(make_job(hooks[way], options), rules):
                if dist.get_rank() == 0:
                    print(json.dumps({"way": way, **numbers}), flush=True)
        except RuntimeError as error:  # the message has the line of a compressor that failed
            sys.exit(f"rank {dist.get_rank()}, {way}: {error}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
