# SPDX-License-Identifier: Apache-2.0
"""The first lines of the README: a group, with and without switches, and a sum."""

import torch
import torch.distributed as dist
from ranks import run_ranks

import infold


def _sum(rank, world):
    tensor = torch.arange(5000.0) + rank
    dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.arange(5000.0) * world + sum(range(world)))
    return infold.statistics()["contributions_on_network"]


def test_sums_on_every_path(path):
    assert run_ranks(3, _sum, options=path) == [3, 3, 3]


def test_sums_in_memory_by_itself():
    assert run_ranks(3, _sum) == [0, 0, 0]
