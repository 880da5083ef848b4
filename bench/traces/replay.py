#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains on a lab's network, with and without recording, and replays the recorded traces there.

Prints the median step of each variant, which shows what recording costs and how far the replay is
from the run. Needs root, build/release/infold, and the infold package in this Python.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import lab_job


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="ranks, each on a host of its own")
    parser.add_argument("--link", default="100mbit", help="rate of every link")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--width", type=int, default=512, help="width of the hidden layers")
    parser.add_argument("--batch", type=int, default=256, help="samples of each rank")
    parser.add_argument("--rounds", type=int, default=5)
    return lab_job.parse(parser)


def train(options, address, *words):
    """Returns the median step in seconds."""
    result = lab_job.train(
        options.ranks,
        "--backend",
        "infold",
        "--steps",
        str(options.steps),
        "--width",
        str(options.width),
        "--batch",
        str(options.batch),
        *words,
        INFOLD_SWITCHES=address,
    )
    return result["step_s"]


def replay(options, address, path):
    """Returns the median steps of rank 0 in seconds, recorded and replayed."""
    ranks = [
        lab_job.on_host(
            rank,
            lab_job.INFOLD,
            "trace",
            "replay",
            f"{path}.{rank}.et",
            "--switch",
            address,
            "--rank",
            str(rank),
            "--ranks",
            str(options.ranks),
            "--json",
        )
        for rank in range(options.ranks)
    ]
    said = [process.communicate(timeout=lab_job.LIMIT_S)[0] for process in ranks]
    if any(process.returncode for process in ranks):
        raise RuntimeError("a rank failed; its output is above")
    steps = [json.loads(line) for line in said[0].splitlines()]
    steps = [step for step in steps if step["event"] == "step"]
    return tuple(
        median([step[time] / 1e9 for step in steps]) for time in ("recorded_ns", "replayed_ns")
    )


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    options = parse()
    lab_job.need_root()
    plain, recorded, ratios = [], [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        lab_job.lab(options.ranks, options.link),
        lab_job.switch() as address,
    ):
        path = str(pathlib.Path(folder) / "run")
        for _ in range(options.rounds):
            plain.append(train(options, address))
            recorded.append(train(options, address, "--record", path))
            subprocess.run(
                [
                    lab_job.INFOLD,
                    "trace",
                    "check",
                    *(f"{path}.{rank}.et" for rank in range(options.ranks)),
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            run, again = replay(options, address, path)
            ratios.append(again / run)
            print(
                f"  without {plain[-1] * 1e3:.1f} ms, recording {recorded[-1] * 1e3:.1f} ms, "
                f"trace {run * 1e3:.1f} ms, replay {again * 1e3:.1f} ms",
                flush=True,
            )
    print(
        json.dumps(
            {
                "world": options.ranks,
                "rate": options.link,
                "rounds": options.rounds,
                "plain_s": median(plain),
                "recorded_s": median(recorded),
                "replayed_by_recorded": median(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
            }
        )
    )


if __name__ == "__main__":
    main()
