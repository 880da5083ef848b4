#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small model with PyTorch's own backend on a network of 100 Mbit/s, and shows where the
time of a step goes. Takes about a minute and needs root."""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lab_job


def parse():
    parser = argparse.ArgumentParser(prog="./dev example gloo", description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="ranks, each on a host of its own")
    parser.add_argument("--link", default="100mbit", help="rate of every link")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--out", default="example-gloo.png", help="the picture")
    return lab_job.parse(parser)


def main():
    options = parse()
    import pictures  # --help works without matplotlib

    lab_job.need_root()
    print(f"{options.ranks} hosts, links of {options.link}, PyTorch's Gloo backend:")
    with lab_job.lab(options.ranks, options.link):
        result = lab_job.train(
            options.ranks,
            "--backend",
            "gloo",
            "--steps",
            str(options.steps),
            on_step=lab_job.show_step("gloo"),
        )
    whole, computing = result["step_s"], result["compute_s"]
    megabytes = result["gradient_bytes"] / 1e6
    print(
        f"a step takes {whole:.2f} s: {computing:.2f} s of computing, and "
        f"{1 - computing / whole:.0%} of the step is waiting for {megabytes:.0f} MB of gradients"
    )
    pictures.draw_bars(
        options.out,
        f"{options.ranks} ranks, {options.link} links, {megabytes:.0f} MB of gradients a step",
        [("Gloo's ring", computing, whole)],
    )


if __name__ == "__main__":
    main()
