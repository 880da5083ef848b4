#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures compressed gradients in DistributedDataParallel, in the lab:

goal     time, bytes and steps until a convnet, a transformer and a recommender give enough right
         answers
step     the time of a step whose gradients take longer than its computation, compared with Gloo
steering steps and accuracy of the convnet while links change, compared with fixed ratios

Needs root, and the environment that `./dev example` makes:

    build/python/venv/bin/python bench/compression/measure.py goal --seeds 3 --json goal.json
    build/python/venv/bin/python bench/compression/measure.py step --rounds 5 --json step.json
    build/python/venv/bin/python bench/compression/measure.py steering --seeds 3

The ways of one run take turns on the same links. In `goal`, each seed means another model, other
samples, and another order of the ways. A way that does not reach the goal within the limit is
`missed`, and its figures are those at the limit. `>` marks a multiple that belongs to such a way.
Prints tables of medians; --json writes all samples.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "examples"))
import lab_job
import steering
from tables import median_of, of_way, print_table

RANK = "bench/compression/rank.py"
TASKS = ("convnet", "transformer", "recommender")
# The names of ways.py.
WAYS = (
    "f32",
    "bf16",
    "bfp16",
    "bfp8",
    "shared8",
    "thc4",
    "thc2",
    "sign",
    "topk",
    "sidco",
    "powersgd",
)
ON_REQUEST = ("none",)
# Every table compares the other ways with these.
BESIDE = ("f32", "bf16", "bfp16", "bfp8")
# The speeds that a step should reach, as multiples of Gloo's f32 and of our bfp16.
WANTED_TO_GLOO = {"bfp8": 6, "shared8": 6, "thc4": 10, "sign": 18, "topk": 12, "sidco": 12}
WANTED_TO_BFP16 = 1.5


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["goal", "step", "steering"])
    parser.add_argument("--ranks", type=int, default=0, help="default 8 for step, otherwise 4")
    parser.add_argument("--link", default="100mbit", help="rate of every link (default 100mbit)")
    parser.add_argument("--mtu", default="1500", help="of every link (default 1500)")
    parser.add_argument("--ways", default=",".join(WAYS), help="beside f32, bf16, bfp16 and bfp8")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all samples")
    parser.add_argument("--tasks", default=",".join(TASKS), help="of goal")
    parser.add_argument("--seeds", type=int, default=3, help="of goal and steering")
    parser.add_argument("--seconds", type=float, default=120, help="limit of a training of goal")
    parser.add_argument(
        "--goal", type=float, default=0, help="share of right answers, in place of the tasks' own"
    )
    parser.add_argument("--rounds", type=int, default=5, help="of step")
    parser.add_argument(
        "--steps",
        type=int,
        default=0,
        help="of step in each round (default 3), of a phase of steering (default "
        "60), or limit of a training",
    )
    parser.add_argument("--batch", type=int, default=4, help="samples of a rank's step")
    options = lab_job.parse(parser)
    named = options.ways.split(",")
    options.ways = [*BESIDE, *(way for way in named if way not in BESIDE)]
    for given, allowed in ((options.ways, WAYS + ON_REQUEST), (options.tasks.split(","), TASKS)):
        for each in given:
            if each not in allowed:
                parser.error(f"there is no {each}; there are: {', '.join(allowed)}")
    return options


def train_to_goal(options, task, seed, switch):
    """Returns the last test of each way, and all of its tests."""
    turn = seed % len(options.ways)
    order = options.ways[turn:] + options.ways[:turn]
    words = [
        "goal",
        "--ways",
        ",".join(order),
        "--task",
        task,
        "--seed",
        str(seed),
        "--seconds",
        str(options.seconds),
        "--steps",
        str(options.steps or 1_000_000),
        "--goal",
        str(options.goal),
    ]
    tests = []
    lab_job.train(options.ranks, *words, program=RANK, on_step=tests.append, INFOLD_SWITCHES=switch)
    results = []
    for way in order:
        own = of_way(tests, way)
        results.append(
            own[-1]
            | {
                "task": task,
                "seed": seed,
                "reached": own[-1]["accuracy"] >= own[-1]["goal"],
                "tests": [[each["seconds"], each["megabytes"], each["accuracy"]] for each in own],
            }
        )
        print(
            f"  {task}, seed {seed}, {way}: {own[-1]['accuracy']:.1%} after "
            f"{own[-1]['seconds']:.1f} s",
            file=sys.stderr,
            flush=True,
        )
    return results


def table_of_goal(task, results, options):
    goal = results[0]["goal"]
    print(
        f"\n{task}, until {goal:.0%} are right: {options.ranks} ranks, links of {options.link}, "
        f"medians of {options.seeds} seeds"
    )
    rows = [
        [
            "way",
            "reached",
            "s",
            "from",
            "to",
            "MB",
            "steps",
            "ms a step",
            *(f"to {way}" for way in BESIDE),
        ]
    ]
    middle = {way: median_of(of_way(results, way), "seconds") for way in options.ways}
    missed = {each["way"] for each in results if not each["reached"]}

    def times(way, base):
        if way in missed:
            return "missed"
        return f"{'>' if base in missed else ''}{middle[base] / middle[way]:.2f}x"

    for way in options.ways:
        own = of_way(results, way)
        seconds, reached = [each["seconds"] for each in own], sum(each["reached"] for each in own)
        a_step = [1e3 * each["seconds"] / each["step"] for each in own]
        rows.append(
            [
                way,
                f"{reached} of {len(own)}",
                f"{middle[way]:.1f}",
                f"{min(seconds):.1f}",
                f"{max(seconds):.1f}",
                f"{median_of(own, 'megabytes'):.1f}",
                f"{median_of(own, 'step'):.0f}",
                f"{statistics.median(a_step):.0f}",
                *(times(way, base) for base in BESIDE),
            ]
        )
    print_table(rows)


def goal(options, switch):
    results = []
    tasks = options.tasks.split(",")
    for seed in range(1, options.seeds + 1):
        for task in tasks:
            results += train_to_goal(options, task, seed, switch)
    for task in tasks:
        table_of_goal(task, [each for each in results if each["task"] == task], options)
    return results


def step(options, switch):
    order = ["gloo", *options.ways]
    samples = []

    def add(sample):
        samples.append(sample)
        print(
            f"  round {sample['round']}, {sample['way']}: {sample['seconds']:.3f} s",
            file=sys.stderr,
            flush=True,
        )

    lab_job.train(
        options.ranks,
        "step",
        "--ways",
        ",".join(order),
        "--rounds",
        str(options.rounds),
        "--steps",
        str(options.steps or 3),
        "--batch",
        str(options.batch),
        program=RANK,
        on_step=add,
        INFOLD_SWITCHES=switch,
    )
    print(
        f"\na step of 25.2 MB of gradients: {options.ranks} ranks, links of {options.link}, "
        f"medians of {options.rounds} rounds"
    )
    rows = [
        ["way", "ms", "from", "to", "MB", "to gloo", "wanted", "to bf16", "to bfp16", "wanted", ""]
    ]
    middle = {way: median_of(of_way(samples, way), "seconds") for way in order}
    for way in order:
        own = [each["seconds"] for each in of_way(samples, way)]
        times = {each: middle[each] / middle[way] for each in ("gloo", "bf16", "bfp16")}
        wanted = WANTED_TO_GLOO.get(way, 0)
        is_missed = wanted and (times["gloo"] < wanted or times["bfp16"] < WANTED_TO_BFP16)
        rows.append(
            [
                way,
                f"{1e3 * middle[way]:.0f}",
                f"{1e3 * min(own):.0f}",
                f"{1e3 * max(own):.0f}",
                f"{median_of(of_way(samples, way), 'megabytes'):.2f}",
                f"{times['gloo']:.2f}x",
                f"{wanted}x" if wanted else "",
                f"{times['bf16']:.2f}x",
                f"{times['bfp16']:.2f}x",
                f"{WANTED_TO_BFP16}x" if wanted else "",
                "missed" if is_missed else "",
            ]
        )
    print_table(rows)
    return samples


def follow(options, switch):
    options.steps = options.steps or 60
    return steering.measure(options, switch, RANK)


def main():
    options = parse()
    lab_job.need_root()
    options.ranks = options.ranks or {"goal": 4, "step": 8, "steering": 4}[options.what]
    try:
        with (
            lab_job.lab(options.ranks, options.link, "--mtu", options.mtu),
            lab_job.switch() as switch,
        ):
            samples = {"goal": goal, "step": step, "steering": follow}[options.what](
                options, switch
            )
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"measure: {error}")
    if options.json:
        conditions = {key: value for key, value in vars(options).items() if key != "json"}
        options.json.write_text(
            json.dumps({"conditions": conditions, "samples": samples}) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
