# SPDX-License-Identifier: Apache-2.0
"""Trains to an accuracy on links that become slower and then faster again, with steering and with
fixed ratios."""

import pathlib
import statistics
import sys

from tables import of_way, print_table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tools" / "lab")]
import lab_job
import network

TASK = "convnet"
GOAL = 0.95  # right answers
RATES = (100, 20, 100)  # in Mbit/s, one for each phase; the last one lasts to the goal
# The names of ways.py.
FIXED = ("topk0.003", "topk0.01", "topk0.03", "topk0.1", "topk0.3")
STEERED = "steering"
WAYS = (STEERED, *FIXED, "bfp8")
STEPS_MAX = 600
WANTED = 1.15  # as a multiple of the best fixed ratio's time


def _set_rate(phase):
    network.Lab(lab_job.NAME).change_rate(RATES[phase] * 10**6)


def train(options, seed, switch, program):
    """Returns a sample for each step and each test. options.steps is the number of steps in each
    phase."""
    samples = []
    turn = seed % len(WAYS)

    def add(sample):
        samples.append(sample | {"seed": seed})
        if "ended" in sample:
            print(
                f"  seed {seed}, {sample['way']}: {sample['accuracy']:.1%} right after "
                f"{sample['step']} steps, {sample['seconds']:.1f} s",
                file=sys.stderr,
                flush=True,
            )
            _set_rate(0)
        elif "ratios" in sample and (sample["step"] + 1) % options.steps == 0:
            # The next step begins while the links change.
            _set_rate(min((sample["step"] + 1) // options.steps, len(RATES) - 1))

    lab_job.train(
        options.ranks,
        "steering",
        "--ways",
        ",".join(WAYS[turn:] + WAYS[:turn]),
        "--task",
        TASK,
        "--goal",
        str(options.goal or GOAL),
        "--seed",
        str(seed),
        "--steps",
        str(STEPS_MAX),
        program=program,
        on_step=add,
        INFOLD_SWITCHES=switch,
    )
    return samples


def _middle_ms(samples, way, phase, steps):
    """Returns the median milliseconds of a phase's steps, and the median ratio."""
    end = STEPS_MAX if phase == len(RATES) - 1 else (phase + 1) * steps
    own = [
        each
        for each in of_way(samples, way)
        if "ratios" in each and phase * steps <= each["step"] < end
    ]
    if not own:
        return "", ""
    ratios = [ratio for each in own for ratio in each["ratios"]]
    return (
        f"{1e3 * statistics.median(each['seconds'] for each in own):.0f}",
        f"{statistics.median(ratios):g}" if ratios else "",
    )


def show(samples, options):
    goal = options.goal or GOAL
    ended = {way: [each for each in of_way(samples, way) if "ended" in each] for way in WAYS}
    seconds = {
        way: statistics.median(
            each["seconds"] if each["accuracy"] >= goal else float("inf") for each in ended[way]
        )
        for way in WAYS
    }
    best = min(FIXED, key=seconds.get)
    print(
        f"\n{TASK}, until {goal:.0%} are right: {options.ranks} ranks, links of "
        f"{', '.join(map(str, RATES))} Mbit/s, each for {options.steps} steps and the last one to "
        f"the end; medians of {options.seeds} seeds"
    )
    phases = [f"ms at {rate}" for rate in RATES]
    rows = [["way", "s", "from", "to", "steps", *phases, "to the best ratio", "wanted"]]
    for way in WAYS:
        times = [each["seconds"] for each in ended[way]]
        rows.append(
            [
                way,
                f"{seconds[way]:.1f}",
                f"{min(times):.1f}",
                f"{max(times):.1f}",
                f"{statistics.median(each['step'] for each in ended[way]):.0f}",
                *(_middle_ms(samples, way, phase, options.steps)[0] for phase in range(len(RATES))),
                f"{seconds[way] / seconds[best]:.2f}",
                f"{WANTED}" if way == STEERED else "",
            ]
        )
    print_table(rows)
    chosen = [_middle_ms(samples, STEERED, phase, options.steps)[1] for phase in range(len(RATES))]
    print(f"the median ratio of steering in each phase: {', '.join(chosen)}")
    equal = all(each["equal"] for each in ended[STEERED])
    print(f"all ranks had equal ratios in each step: {'yes' if equal else 'NO'}")


def measure(options, switch, program):
    samples = []
    _set_rate(0)
    for seed in range(1, options.seeds + 1):
        samples += train(options, seed, switch, program)
    show(samples, options)
    return samples
