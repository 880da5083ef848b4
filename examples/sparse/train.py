# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that trains a recommender, which predicts clicks on offers. Nearly all of its
parameters are in a table with a row for each thing, and a step uses few rows.

Only the name of the backend and, with --hook, one line for a hook come from infold. training.py
describes the output of rank 0.
"""

import argparse
import pathlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import training

FIELDS = 26  # in a sample: person, offer, place, browser, ...
WIDTH = 32  # numbers in a row


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="gloo", choices=["gloo", "infold"])
    parser.add_argument(
        "--sparse",
        action="store_true",
        help="gradients of the table are sparse tensors of the used rows",
    )
    parser.add_argument(
        "--hook", action="store_true", help="infold's hook chooses the layout of each gradient"
    )
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=64, help="samples of each rank")
    parser.add_argument("--rows", type=int, default=1 << 13, help="rows of each field")
    return parser.parse_args()


class Recommender(nn.Module):
    """A factorisation machine with a deep part: the products of all pairs of a sample's rows, and a
    network over all rows."""

    def __init__(self, rows, sparse):
        super().__init__()
        self.table = nn.Embedding(FIELDS * rows, WIDTH, sparse=sparse)
        nn.init.normal_(self.table.weight, std=0.03)
        self.network = nn.Sequential(
            nn.Linear(FIELDS * WIDTH, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)
        )

    def forward(self, ids):
        rows = self.table(ids)
        pairs = rows.sum(1).square() - rows.square().sum(1)
        return pairs.sum(1) / 2 + self.network(rows.flatten(1)).squeeze(1)


def make_model(rows, sparse):
    """Makes the same model at all ranks."""
    torch.manual_seed(1)
    return Recommender(rows, sparse)


def batches(rank, size, rows):
    """Yields samples in which a few things occur often and most rarely (Zipf's law). Each thing
    makes a click more or less likely."""
    generator = torch.Generator().manual_seed(100 + rank)
    taste = torch.randn(FIELDS * rows, generator=torch.Generator().manual_seed(7))
    often = (1 / torch.arange(1, rows + 1)).cumsum(0)
    first = rows * torch.arange(FIELDS)
    while True:
        drawn = often[-1] * torch.rand(size, FIELDS, generator=generator)
        ids = first + torch.searchsorted(often, drawn).clamp_max(rows - 1)
        clicks = taste[ids].mean(1) + 0.1 * torch.randn(size, generator=generator) > 0
        yield ids, clicks.float()


def main():
    options = parse()
    torch.set_num_threads(1)
    if options.backend == "infold":
        import infold
    dist.init_process_group(options.backend)
    model = DistributedDataParallel(make_model(options.rows, options.sparse))
    if options.hook:
        model.register_comm_hook(None, infold.hooks.layout("automatic"))
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    training.train(
        model,
        optimizer,
        nn.functional.binary_cross_entropy_with_logits,
        batches(dist.get_rank(), options.batch, options.rows),
        options.steps,
        backend=options.backend,
    )
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
