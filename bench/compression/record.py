#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the gradients of a task of measure.py, for `infold bench codec --gradients FOLDER`.

One process trains for some steps. Then it writes each rank's gradient, computed from that rank's
own samples, to a file of plain floats, with all parameters one after the other.

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


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=list(tasks.TASKS))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--steps", type=int, default=30, help="of training before (default 30)")
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
        gradient_of(task, model, own).numpy().tofile(options.folder / f"rank-{rank:03}.f32")
    print(
        f"{options.ranks} gradients of {sum(each.numel() for each in model.parameters())} "
        f"elements are in {options.folder}"
    )


if __name__ == "__main__":
    main()
