#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the training job of `./dev example gloo` in turn with Gloo and with a switch that sums the
gradients, on the same links. Takes a few minutes and needs root."""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import lab_job
import quantity

# A frame of 1494 bytes carries 1408 bytes of gradients.
PAYLOAD_SHARE = 1408 / 1494


def parse():
    parser = argparse.ArgumentParser(prog="./dev example switch", description=__doc__)
    parser.add_argument("--ranks", type=int, default=4, help="ranks, each on a host of its own")
    parser.add_argument("--link", default="100mbit", help="rate of every link")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often each way is measured, in turn"
    )
    parser.add_argument("--out", default="example-switch.png", help="the picture")
    return lab_job.parse(parser)


def wire_seconds(gradient_bytes, rate):
    """Returns the seconds that a link needs for a step's gradients, or None for links without a
    rate."""
    bits_per_second = quantity.rate_or_none(rate)
    return 8 * gradient_bytes / (bits_per_second * PAYLOAD_SHARE) if bits_per_second else None


def main():
    options = parse()
    import pictures  # --help works without matplotlib

    lab_job.need_root()
    steps = ["--steps", str(options.steps)]
    results = lab_job.measure(
        {
            "Gloo's ring": (["--backend", "gloo", *steps], {}),
            "infold": (["--backend", "infold", *steps], {}),
            "infold, bfp16": (["--backend", "infold", "--format", "bfp16", *steps], {}),
        },
        options.ranks,
        options.link,
        options.rounds,
    )
    lab_job.compare(results, options.ranks, options.link)
    gradient_bytes = results["Gloo's ring"]["gradient_bytes"]
    bound = wire_seconds(gradient_bytes, options.link)
    pictures.draw_bars(
        options.out,
        f"{options.ranks} ranks, {options.link} links, "
        f"{gradient_bytes / 1e6:.0f} MB of gradients a step",
        [(name, each["compute_s"], each["step_s"]) for name, each in results.items()],
        bound,
        "all gradients once over a link, in 32 bits",
    )


if __name__ == "__main__":
    main()
