#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a training in a lab, predicts its step on other links, and measures the replay there.

Each change is half or twice the rate, lost packets, a quarter of the slots, or twice the ranks. A
round replays the traces in a lab with that change. Prints prediction, measurement and their ratio.
Needs root, build/release/infold, and the infold package in this Python.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples"))
import lab_job
import replay

# The default of infold switch and infold whatif.
SLOTS = 4096
# The first of four jobs gets 512 slots, and the others get 64, 56 and 49.
MESH_SLOTS = 1024


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="ranks, each on a host of its own")
    parser.add_argument("--link", type=int, default=50, help="Mbit/s of every link")
    parser.add_argument(
        "--slots",
        type=int,
        default=64,
        help="slots of the switch, of which a change takes a quarter",
    )
    parser.add_argument(
        "--rtt-us", default="120", help="microseconds from one host of the lab to another and back"
    )
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--width", type=int, default=512, help="width of the hidden layers")
    parser.add_argument("--batch", type=int, default=64, help="samples of each rank")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--mesh",
        action="store_true",
        help="record replicas of shards, whose ranks have two groups each; no "
        "change then has other ranks",
    )
    return lab_job.parse(parser)


def whatif(paths, *words):
    """Returns the predicted step in seconds, with the sums at a switch."""
    said = subprocess.run(
        [
            lab_job.INFOLD,
            "whatif",
            *paths,
            "--place",
            "switch",
            "--frame-bytes",
            "14",
            "--json",
            *words,
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = [json.loads(line) for line in said.stdout.splitlines()]
    return next(line["step_us"] for line in lines if line["event"] == "prediction") / 1e6


def changes_of(options):
    """Yields a name, and what changes: rate, loss, slots, ranks."""
    rate, world, slots = options.link, options.ranks, options.slots
    if options.mesh:
        slots = MESH_SLOTS
    yield "as recorded", rate, 0, SLOTS, world
    yield "half the rate", rate / 2, 0, SLOTS, world
    yield "twice the rate", rate * 2, 0, SLOTS, world
    yield "1 % loss", rate, 0.01, SLOTS, world
    yield f"{slots} slots", rate, 0, slots, world
    if options.mesh:
        return
    yield f"{slots // 4} slots", rate, 0, slots // 4, world
    yield "twice the ranks", rate, 0, SLOTS, world * 2


def record(options, prefix):
    with lab_job.lab(options.ranks, f"{options.link}mbit"), lab_job.switch() as address:
        if options.mesh:
            lab_job.train(
                options.ranks,
                "--steps",
                str(options.steps),
                "--width",
                str(options.width),
                "--batch",
                str(options.batch),
                "--record",
                prefix,
                program="bench/traces/train_mesh.py",
                INFOLD_SWITCHES=address,
            )
        else:
            replay.train(options, address, "--record", prefix)
    return [f"{prefix}.{rank}.et" for rank in range(options.ranks)]


def measure(options, paths, folder, change):
    name, rate, loss, slots, world = change
    words = [
        "--link",
        f"{rate}M",
        "--loss",
        str(loss),
        "--slots",
        str(slots),
        "--rtt-us",
        options.rtt_us,
        "--ranks",
        str(world),
    ]
    prefix = str(pathlib.Path(folder) / name.replace(" ", "-"))
    predicted = whatif(paths, *words, "--traces", prefix)
    again = argparse.Namespace(**{**vars(options), "ranks": world})
    with (
        lab_job.lab(world, f"{int(rate * 1000)}kbit", "--loss", str(loss)),
        lab_job.switch("--slots", str(slots)) as address,
    ):
        measured = replay.median(
            [replay.replay(again, address, prefix)[1] for _ in range(options.rounds)]
        )
    print(
        json.dumps(
            {
                "change": name,
                "rate_mbit": rate,
                "loss": loss,
                "slots": slots,
                "ranks": world,
                "predicted_s": round(predicted, 4),
                "measured_s": round(measured, 4),
                "predicted_by_measured": round(predicted / measured, 3),
            }
        ),
        flush=True,
    )


def main():
    options = parse()
    lab_job.need_root()
    with tempfile.TemporaryDirectory() as folder:
        paths = record(options, str(pathlib.Path(folder) / "run"))
        for change in changes_of(options):
            measure(options, paths, folder, change)


if __name__ == "__main__":
    main()
