#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Races several ways for gradients to travel: a model learns to read digits over links of 100
Mbit/s, until it reads nine of ten. Your own compressor, examples/compress/mine.py, comes last.
Takes 3 to 4 minutes and needs root."""

import argparse
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lab_job

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = "examples/compress/train.py"
# The names of train.py.
TITLES = {
    "f32": "f32",
    "bfp16": "bfp16",
    "bfp8": "bfp8",
    "shared": "8 bits, shared scales",
    "thc": "4 bits, rotated",
    "sign": "signs",
    "topk": "largest 1 %",
    "topk-forgets": "largest 1 %, no memory",
    "mine": "yours",
}


def parse():
    parser = argparse.ArgumentParser(prog="./dev example compress", description=__doc__)
    parser.add_argument(
        "--ways",
        default=",".join(TITLES),
        help=f"which ways race, in this order (default {','.join(TITLES)})",
    )
    parser.add_argument(
        "--mine",
        default=str(HERE / "mine.py"),
        help="the file with your compressor (default examples/compress/mine.py)",
    )
    parser.add_argument("--ranks", type=int, default=4, help="ranks, each on a host of its own")
    parser.add_argument("--link", default="100mbit", help="rate of every link")
    parser.add_argument("--goal", type=float, default=0.9, help="share of digits read right")
    parser.add_argument("--seconds", type=float, default=40, help="limit for each way")
    parser.add_argument(
        "--out",
        default="example-compress.png",
        help="the picture; the same is drawn as an SVG beside it",
    )
    options = lab_job.parse(parser)
    options.ways = options.ways.split(",")
    for way in options.ways:
        if way not in TITLES:
            parser.error(f"there is no way {way}; there are: {', '.join(TITLES)}")
    if not 0 < options.goal < 1:
        parser.error("--goal is between 0 and 1")
    return options


def examine(options):
    """Refuses a compressor that cannot work before the race begins."""
    import own  # --help works without torch

    try:
        module = own.load(options.mine)
        bits, error = own.examine(module)
        own.make_hook(module)
    except own.Refused as refused:
        sys.exit(f"your compressor: {refused}")
    print(
        f"your compressor sends {bits:.2f} bits for each number of 32, and loses {error:.0%} of "
        "a random gradient's square"
    )


class Scores:
    """The tests of each way, in the order in which they come."""

    def __init__(self):
        self.of = {}

    def add(self, test):
        tests = self.of.setdefault(test["way"], [])
        before = max((each["accuracy"] for each in tests), default=0)
        tests.append(test)
        # Prints one line for each tenth of accuracy.
        if int(10 * test["accuracy"]) > int(10 * before) and test["step"]:
            print(
                f"  {TITLES[test['way']]}: {test['accuracy']:.0%} after {test['seconds']:.1f} s "
                f"and {test['megabytes']:.1f} MB",
                flush=True,
            )

    def show(self, goal):
        for way, tests in self.of.items():
            last = tests[-1]
            print(
                json.dumps(
                    {
                        "way": way,
                        "reached": last["accuracy"] >= goal,
                        "accuracy": round(last["accuracy"], 3),
                        "steps": last["step"],
                        "seconds": round(last["seconds"], 2),
                        "megabytes": round(last["megabytes"], 2),
                    }
                )
            )


def race(options, scores):
    words = [
        "--ways",
        ",".join(options.ways),
        "--goal",
        str(options.goal),
        "--seconds",
        str(options.seconds),
    ]
    if "mine" in options.ways:
        words += ["--mine", str(pathlib.Path(options.mine).resolve())]
    with lab_job.lab(options.ranks, options.link), lab_job.switch() as address:
        lab_job.train(
            options.ranks, *words, program=PROGRAM, on_step=scores.add, INFOLD_SWITCHES=address
        )


def main():
    options = parse()
    import pictures  # --help works without matplotlib

    lab_job.need_root()
    if "mine" in options.ways:
        examine(options)
    print(
        f"{options.ranks} hosts, links of {options.link}; each way trains until it reads "
        f"{options.goal:.0%} of the digits, for {options.seconds:g} s at most:"
    )
    scores = Scores()
    code = 0
    try:
        race(options, scores)
    except RuntimeError as error:
        print(f"the race ended early: {error}", file=sys.stderr)
        code = 1
    except subprocess.CalledProcessError:  # the lab has printed the reason
        code = 1
    except KeyboardInterrupt:
        code = 130
    scores.show(options.goal)
    ways = [(TITLES[way], tests) for way, tests in scores.of.items() if len(tests) > 1]
    if ways:
        for path in {options.out, str(pathlib.Path(options.out).with_suffix(".svg"))}:
            pictures.draw_race(
                path,
                f"{options.ranks} hosts, links of {options.link}: how soon a "
                "model reads digits, and what arrives at each host",
                ways,
                options.goal,
            )
    return code


if __name__ == "__main__":
    sys.exit(main())
