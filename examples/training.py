# SPDX-License-Identifier: Apache-2.0
"""Runs the steps of a training job and measures them. Rank 0 prints one JSON object for each step,
and one at the end."""

import contextlib
import json
import time

import torch.distributed as dist

# The number of steps that are not measured, because DDP rebuilds its buckets after the first one.
WARM_UP = 2


def seconds_of(action):
    begin = time.perf_counter()
    answer = action()
    return time.perf_counter() - begin, answer


def received_bytes(interface="eth0"):
    """Returns the bytes in all frames that this host's interface has received, or 0 if there is no
    such interface."""
    with open("/proc/net/dev", encoding="ascii") as file:
        for line in file:
            name, _, counts = line.partition(":")
            if name.strip() == interface:
                return int(counts.split()[0])
    return 0


def median(values):
    return sorted(values)[len(values) // 2]


def recorded(path):
    """Records the steps into PATH.RANK.et, if there is a path."""
    if not path:
        return contextlib.nullcontext()
    import infold

    return infold.trace.record(path)


def train(model, optimizer, loss_of, batches, steps, record="", **more):
    """`model` is a DistributedDataParallel, and loss_of(outputs, labels) is its loss. `record` is
    the beginning of the traces' names. The last object also has `more`."""

    def step():
        inputs, labels = next(batches)
        optimizer.zero_grad()
        loss = loss_of(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    def show(**numbers):
        if dist.get_rank() == 0:
            print(json.dumps(numbers), flush=True)

    whole, alone = [], []
    for _ in range(WARM_UP):
        step()
    dist.barrier()
    received = received_bytes()
    with recorded(record) as recording:
        for number in range(steps):
            seconds, loss = seconds_of(step)
            if recording:
                recording.step()
            whole.append(seconds)
            show(step=number, seconds=seconds, loss=loss)
    received = received_bytes() - received
    # Runs the same steps without sums, on all ranks at once, which gives the time of the
    # computation.
    for _ in range(steps):
        dist.barrier()
        with model.no_sync():
            alone.append(seconds_of(step)[0])
    parameters = sum(each.numel() for each in model.parameters())
    show(
        world=dist.get_world_size(),
        gradient_bytes=4 * parameters,
        step_s=median(whole),
        compute_s=median(alone),
        received_bytes=received // steps,
        **more,
    )
