#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a recommender, whose gradients are nearly all zeros, with Gloo and with infold, which
leaves the zeros out. Takes a few minutes and needs root."""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lab_job

PROGRAM = "examples/sparse/train.py"
WAYS = {
    "Gloo": (["--backend", "gloo"], {}),
    "infold": (["--backend", "infold"], {}),
    "infold, zeros left out": (["--backend", "infold"], {"INFOLD_LAYOUT": "blocks"}),
    "infold, sparse tensors": (["--backend", "infold", "--sparse"], {}),
    "Gloo, sparse tensors": (["--backend", "gloo", "--sparse"], {}),
}


def parse():
    parser = argparse.ArgumentParser(prog="./dev example sparse", description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="ranks, each on a host of its own")
    parser.add_argument("--link", default="100mbit", help="rate of every link")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=64, help="samples of each rank")
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often each way is measured, in turn"
    )
    parser.add_argument("--out", default="example-sparse.png", help="the picture")
    return lab_job.parse(parser)


def ways(among, steps, batch):
    words = ["--steps", str(steps), "--batch", str(batch)]
    return {name: ([*own, *words], settings) for name, (own, settings) in among.items()}


def main():
    options = parse()
    import pictures  # --help works without matplotlib

    lab_job.need_root()
    results = lab_job.measure(
        ways(WAYS, options.steps, options.batch),
        options.ranks,
        options.link,
        options.rounds,
        program=PROGRAM,
    )
    lab_job.compare(results, options.ranks, options.link)
    megabytes = results["Gloo"]["gradient_bytes"] / 1e6
    pictures.draw_bars(
        options.out,
        f"{options.ranks} ranks, {options.link} links, {megabytes:.0f} MB of "
        "gradients a step, nearly all zeros",
        [
            (
                f"{name}\n{each['received_bytes'] / 1e6:.1f} MB arrive",
                each["compute_s"],
                each["step_s"],
            )
            for name, each in results.items()
        ],
    )


if __name__ == "__main__":
    main()
