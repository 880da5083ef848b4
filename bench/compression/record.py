#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the gradients of a task of measure.py, for `infold bench codec --gradients FOLDER`.

One process trains for some steps. Then it writes each rank's gradient, computed from that rank's
own samples, to a file of plain floats, with all parameters one after the other. The small ones in
bench/compression/gradients are from --ranks 4 --elements 8192.

    build/python/venv/bin/python bench/compression/record.py convnet /tmp/gradients
    infold bench codec --gradients /tmp/gradients
"""

import argparse
import pathlib

import tasks
import torch


def gradient_of(task, model, generator):
    model.zero_grad()
    inputs, labels = task.batch(task.size, generator)
    task.loss_of(model(inputs), labels).backward()
    return torch.cat([each.grad.flatten() for each in model.parameters()])


RUN = 256  # elements that stay together in a part of a gradient


def part_of(gradient, elements):
    """Returns so many elements, in runs that are spread evenly over the gradient."""
    starts = torch.linspace(0, gradient.numel() - RUN, elements // RUN).long()
    return torch.cat([gradient[start : start + RUN] for start in starts.tolist()])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=list(tasks.TASKS))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30, help="of training before (default 30)")
    parser.add_argument("--elements", type=int, help="write only so many of each gradient")
    options = parser.parse_args()
    torch.manual_seed(1)
    task = tasks.TASKS[options.task]()
    model = task.make_model()
    optimizer = task.make_optimizer(model.parameters(), task.rate)
    generator = torch.Generator().manual_seed(1)
    for _ in range(options.steps):
        gradient_of(task, model, generator)
        optimizer.step()
    options.folder.mkdir(parents=True, exist_ok=True)
    for rank in range(options.ranks):
        own = torch.Generator().manual_seed(1000 + rank)
        gradient = gradient_of(task, model, own)
        if options.elements:
            gradient = part_of(gradient, options.elements)
        gradient.numpy().tofile(options.folder / f"rank-{rank:03}.f32")
    print(f"{options.ranks} gradients of {gradient.numel()} elements are in {options.folder}")


if __name__ == "__main__":
    main()
