# SPDX-License-Identifier: Apache-2.0
"""One rank of measure.py: trains models to an accuracy, or makes steps of a model whose gradients
take longer than its computation. Rank 0 prints one JSON object for each test or step."""

import argparse
import json
import pathlib
import sys
import time

import torch
import torch.distributed as dist
import ways
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import infold

sys.path[:0] = [
    str(pathlib.Path(__file__).resolve().parents[2] / "examples" / each)
    for each in ("", "compress")
]
import race
import tasks
import train as dense_job
import training


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["goal", "step", "steering"])
    parser.add_argument("--ways", default="f32", help="with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--steps", type=int, default=3, help="of each visit or training, or a limit of a race"
    )
    parser.add_argument("--task", default="convnet", choices=list(tasks.TASKS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="limit of a training")
    parser.add_argument("--goal", type=float, default=0, help="in place of the task's own")
    parser.add_argument("--batch", type=int, default=4, help="samples of a rank's step")
    return parser.parse_args()


def show(**numbers):
    if dist.get_rank() == 0:
        print(json.dumps(numbers), flush=True)


def make_job(task, way, seed):
    """Makes the same model at all ranks, with different samples at each. Returns the job and its
    hook."""
    torch.manual_seed(seed)
    model = DistributedDataParallel(task.make_model())
    hook = ways.register(way, model, task.rate)
    rank = dist.get_rank()
    inputs, labels = task.batch(task.tests, torch.Generator().manual_seed(10_000 + rank))
    generator = torch.Generator().manual_seed(1000 * seed + rank)

    def batches():
        while True:
            yield task.batch(task.size, generator)

    def count_right():
        right = task.is_right(model.module(inputs), labels)
        return right.sum().item(), right.numel()

    return race.Job(
        model,
        task.make_optimizer(model.parameters(), task.rate),
        task.loss_of,
        batches(),
        count_right,
    ), hook


def reach_goal(options):
    task = tasks.TASKS[options.task]()
    rules = race.Rules(options.goal or task.goal, options.seconds, options.steps)
    for way in options.ways.split(","):
        for numbers in race.run(make_job(task, way, options.seed)[0], rules):
            show(way=way, goal=rules.goal, **numbers)


def time_steps(options):
    """The ways take turns. The first two steps of each visit are not measured, because DDP rebuilds
    its buckets after the first step."""
    gloo = dist.new_group(backend="gloo")
    for number in range(options.rounds):
        for way in options.ways.split(","):
            group = gloo if way == "gloo" else None
            model = DistributedDataParallel(dense_job.make_model(2048), process_group=group)
            if group is None:
                ways.register(way, model, rate=0.05)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
            job = race.Job(
                model,
                optimizer,
                nn.functional.cross_entropy,
                dense_job.batches(dist.get_rank(), options.batch),
                None,
            )
            for step in range(training.WARM_UP + options.steps):
                dist.barrier()
                begun, arrived = time.perf_counter(), training.received_bytes()
                race.step(job)
                seconds = time.perf_counter() - begun
                megabytes = (training.received_bytes() - arrived) / 1e6
                if step >= training.WARM_UP:
                    show(way=way, round=number, step=step, seconds=seconds, megabytes=megabytes)


def follow_rates(options):
    """Trains to the goal while measure.py changes the links. Tests do not count as time. The last
    object of each way says how long it took, and whether all ranks had the same ratios in all
    steps."""
    gloo = dist.new_group(backend="gloo")
    for way in options.ways.split(","):
        job, hook = make_job(tasks.TASKS[options.task](), way, options.seed)
        ratios, whole, accuracy, step = [], 0.0, 0.0, 0
        while accuracy < options.goal and step < options.steps:
            ratios.append(_ratios(hook))
            dist.barrier()
            begun = time.perf_counter()
            race.step(job)
            seconds = time.perf_counter() - begun
            whole += seconds
            show(way=way, step=step, seconds=seconds, ratios=ratios[-1])
            step += 1
            if step % race.Rules.steps_a_test == 0:
                accuracy = race.accuracy(job)
        of_all = [None] * dist.get_world_size()
        dist.all_gather_object(of_all, ratios, group=gloo)
        show(
            way=way,
            ended=True,
            step=step,
            seconds=whole,
            accuracy=accuracy,
            equal=all(each == ratios for each in of_all),
        )


def _ratios(hook):
    if not isinstance(hook, infold.compress.hook):
        return []
    return [each["value"] for each in hook.statistics().get("steered_calls", ())]


def main():
    options = parse()
    torch.set_num_threads(1)
    dist.init_process_group("infold")
    {"goal": reach_goal, "step": time_steps, "steering": follow_rates}[options.what](options)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
