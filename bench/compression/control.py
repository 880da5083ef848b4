# SPDX-License-Identifier: Apache-2.0
"""Trainings on links that get slower and faster again, with a control and with fixed ratios."""

import pathlib
import statistics
import sys

from tables import of_way, print_table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tools" / "lab")]
import lab_job  # noqa: E402
import network  # noqa: E402

TASK = "convnet"
RATES = (100, 20, 100)  # Mbit/s, a phase each
LEARNING = 20  # steps after a change, in which the control looks for another ratio
# As ways.py has them.
FIXED = ("topk0.001", "topk0.003", "topk0.01", "topk0.03", "topk0.1")
WAYS = ("control", *FIXED)
WANTED = 1.15  # times the seconds of the best fixed ratio
WANTED_WHILE_LEARNING = 1.5


def _set_rate(phase):
    network.Lab(lab_job.NAME).change_rate(RATES[phase] * 10**6)


def train(options, seed, switch, program):
    """A sample for each step, and one at the end of each training. options.steps are a phase's."""
    samples = []
    turn = seed % len(WAYS)

    def add(sample):
        samples.append(sample | {"seed": seed})
        if "accuracy" in sample:
            print(f"  seed {seed}, {sample['way']}: {sample['accuracy']:.1%} right",
                  file=sys.stderr, flush=True)
        elif (sample["step"] + 1) % options.steps == 0:
            # The next step begins while the links change. It is one of those of learning.
            _set_rate((sample["step"] + 1) // options.steps % len(RATES))

    lab_job.train(options.world, "control", "--ways", ",".join(WAYS[turn:] + WAYS[:turn]),
                  "--task", TASK, "--seed", str(seed), "--steps",
                  str(options.steps * len(RATES)), program=program, on_step=add,
                  INFOLD_SWITCHES=switch)
    return samples


def _middle(samples, way, first, end):
    """The median over the seeds of the mean seconds of some steps, and their ratios."""
    own = [each for each in of_way(samples, way)
           if first <= each["step"] < end and "seconds" in each]
    means = [statistics.mean(each["seconds"] for each in own if each["seed"] == seed)
             for seed in {each["seed"] for each in own}]
    return statistics.median(means), [ratio for each in own for ratio in each["ratios"]]


def show(samples, options):
    ended = {way: [each for each in of_way(samples, way) if "accuracy" in each] for way in WAYS}
    right = {way: [each["accuracy"] for each in ended[way]] for way in WAYS}
    print(f"\n{TASK}, phases of {options.steps} steps: {options.world} ranks, medians of "
          f"{options.seeds} seeds; ms are of a step after the first {LEARNING}")
    rows = [["Mbit/s", *(f"{way} ms" for way in WAYS), "ratios", "to the best", "wanted",
             "learning", "wanted"]]
    for phase, rate in enumerate(RATES):
        first = phase * options.steps
        later, early = ({way: _middle(samples, way, first + begin, first + end) for way in WAYS}
                        for begin, end in ((LEARNING, options.steps), (0, LEARNING)))
        best = min(FIXED, key=lambda way, of=later: of[way][0])
        ratios = later["control"][1]
        rows.append([str(rate), *(f"{1e3 * later[way][0]:.0f}" for way in WAYS),
                     f"{min(ratios)} to {max(ratios)}, median {statistics.median(ratios)}",
                     f"{later['control'][0] / later[best][0]:.2f}", f"{WANTED}",
                     f"{early['control'][0] / early[best][0]:.2f}", f"{WANTED_WHILE_LEARNING}"])
    rows.append(["right", *(f"{statistics.mean(right[way]):.1%}" for way in WAYS), *5 * [""]])
    rows.append(["from", *(f"{min(right[way]):.1%}" for way in WAYS), *5 * [""]])
    rows.append(["to", *(f"{max(right[way]):.1%}" for way in WAYS), *5 * [""]])
    print_table(rows)
    equal = all(each["equal"] for each in ended["control"])
    print(f"all ranks had equal ratios in each step: {'yes' if equal else 'NO'}")


def measure(options, switch, program):
    samples = []
    for seed in range(1, options.seeds + 1):
        samples += train(options, seed, switch, program)
    show(samples, options)
    return samples
