# SPDX-License-Identifier: Apache-2.0
"""Trains on links that become slower and then faster again, with steering and with fixed ratios."""

import pathlib
import statistics
import sys

from tables import of_way, print_table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tools" / "lab")]
import lab_job
import network

TASK = "convnet"
RATES = (100, 20, 100)  # in Mbit/s, one for each phase
LEARNING = 20  # steps after a change during which steering looks for another ratio
# The names of ways.py.
FIXED = ("topk0.001", "topk0.003", "topk0.01", "topk0.03", "topk0.1")
WAYS = ("steering", *FIXED)
WANTED = 1.15  # as a multiple of the best fixed ratio's time
WANTED_WHILE_LEARNING = 1.5


def _set_rate(phase):
    network.Lab(lab_job.NAME).change_rate(RATES[phase] * 10**6)


def train(options, seed, switch, program):
    """Returns a sample for each step, and one at the end of each training. options.steps is the
    number of steps in each phase."""
    samples = []
    turn = seed % len(WAYS)

    def add(sample):
        samples.append(sample | {"seed": seed})
        if "accuracy" in sample:
            print(
                f"  seed {seed}, {sample['way']}: {sample['accuracy']:.1%} right",
                file=sys.stderr,
                flush=True,
            )
        elif (sample["step"] + 1) % options.steps == 0:
            # The next step begins while the links change. It counts as one of the learning steps.
            _set_rate((sample["step"] + 1) // options.steps % len(RATES))

    lab_job.train(
        options.ranks,
        "steering",
        "--ways",
        ",".join(WAYS[turn:] + WAYS[:turn]),
        "--task",
        TASK,
        "--seed",
        str(seed),
        "--steps",
        str(options.steps * len(RATES)),
        program=program,
        on_step=add,
        INFOLD_SWITCHES=switch,
    )
    return samples


def _middle(samples, way, first, end):
    """Returns the mean seconds of the given steps, as the median over the seeds, and their
    ratios."""
    own = [
        each for each in of_way(samples, way) if first <= each["step"] < end and "seconds" in each
    ]
    means = [
        statistics.mean(each["seconds"] for each in own if each["seed"] == seed)
        for seed in {each["seed"] for each in own}
    ]
    return statistics.median(means), [ratio for each in own for ratio in each["ratios"]]


def show(samples, options):
    ended = {way: [each for each in of_way(samples, way) if "accuracy" in each] for way in WAYS}
    right = {way: [each["accuracy"] for each in ended[way]] for way in WAYS}
    print(
        f"\n{TASK}, phases of {options.steps} steps: {options.ranks} ranks, medians of "
        f"{options.seeds} seeds; ms are of a step after the first {LEARNING}"
    )
    rows = [
        [
            "Mbit/s",
            *(f"{way} ms" for way in WAYS),
            "ratios",
            "to the best",
            "wanted",
            "learning",
            "wanted",
        ]
    ]
    for phase, rate in enumerate(RATES):
        first = phase * options.steps
        later, early = (
            {way: _middle(samples, way, first + begin, first + end) for way in WAYS}
            for begin, end in ((LEARNING, options.steps), (0, LEARNING))
        )
        best = min(FIXED, key=lambda way, of=later: of[way][0])
        ratios = later["steering"][1]
        rows.append(
            [
                str(rate),
                *(f"{1e3 * later[way][0]:.0f}" for way in WAYS),
                f"{min(ratios)} to {max(ratios)}, median {statistics.median(ratios)}",
                f"{later['steering'][0] / later[best][0]:.2f}",
                f"{WANTED}",
                f"{early['steering'][0] / early[best][0]:.2f}",
                f"{WANTED_WHILE_LEARNING}",
            ]
        )
    rows.append(["right", *(f"{statistics.mean(right[way]):.1%}" for way in WAYS), *5 * [""]])
    rows.append(["from", *(f"{min(right[way]):.1%}" for way in WAYS), *5 * [""]])
    rows.append(["to", *(f"{max(right[way]):.1%}" for way in WAYS), *5 * [""]])
    print_table(rows)
    equal = all(each["equal"] for each in ended["steering"])
    print(f"all ranks had equal ratios in each step: {'yes' if equal else 'NO'}")


def measure(options, switch, program):
    samples = []
    for seed in range(1, options.seeds + 1):
        samples += train(options, seed, switch, program)
    show(samples, options)
    return samples
