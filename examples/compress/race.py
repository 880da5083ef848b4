# SPDX-License-Identifier: Apache-2.0
"""Trains a model until it gives enough right answers, and reports what that took. Time and bytes of
the tests do not count."""

import dataclasses
import pathlib
import sys
import time
import typing

import torch
import torch.distributed as dist

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
import training


@dataclasses.dataclass
class Rules:
    """A race ends at the goal, or when one of the limits is reached."""

    goal: float  # share of right answers
    seconds: float
    steps: int = 1_000_000
    steps_a_test: int = 5


@dataclasses.dataclass
class Job:
    """What a rank trains. `batches` yields inputs and labels; `loss_of` takes outputs and labels.
    `count_right` returns the number of right answers among this rank's tests, and the number of
    tests."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    loss_of: typing.Callable
    batches: typing.Iterator
    count_right: typing.Callable


def step(job):
    inputs, labels = next(job.batches)
    job.optimizer.zero_grad()
    job.loss_of(job.model(inputs), labels).backward()
    job.optimizer.step()


def run(job, rules):
    """Yields a dict for each test, which is the same at all ranks: the step, rank 0's seconds and
    megabytes so far, and the accuracy. Megabytes are those that arrive at rank 0's host."""
    seconds, megabytes, steps = 0.0, 0.0, 0
    while True:
        accuracy, seconds, megabytes = _agreed(job, seconds, megabytes)
        yield {"step": steps, "seconds": seconds, "megabytes": megabytes, "accuracy": accuracy}
        if accuracy >= rules.goal or seconds >= rules.seconds or steps >= rules.steps:
            return
        dist.barrier()
        begun, arrived = time.perf_counter(), training.received_bytes()
        for _ in range(rules.steps_a_test):
            step(job)
        steps += rules.steps_a_test
        seconds += time.perf_counter() - begun
        megabytes += (training.received_bytes() - arrived) / 1e6


def accuracy(job):
    """Returns the share of right answers over all ranks."""
    return _agreed(job, 0, 0)[0]


def _agreed(job, seconds, megabytes):
    """All ranks must end at the same step, so they share their answers and rank 0's clock."""
    job.model.eval()
    with torch.no_grad():
        right, tests = job.count_right()
    job.model.train()
    mine = [seconds, megabytes] if dist.get_rank() == 0 else [0.0, 0.0]
    shared = torch.tensor([right, tests, *mine], dtype=torch.float64)
    dist.all_reduce(shared)
    right, tests, seconds, megabytes = shared.tolist()
    return right / tests, seconds, megabytes
