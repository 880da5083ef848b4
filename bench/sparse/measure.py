#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures sums of tensors with a growing share of zeros, with `infold bench compare`, and draws
the time against that share: for infold dense and without zeros, Gloo's ring, Gloo's ring over the
union, and the bounds of the links. Needs root, the rivals (./dev bench compare makes them), and
matplotlib for the picture:

    bench/sparse/measure.py run build/release/infold FOLDER --bytes 104857600 --rounds 3
    bench/sparse/measure.py draw FOLDER docs/pictures/sparse.png

Results that FOLDER already has are not measured again. The time of dense sums does not depend on
zeros, so they are measured only at some shares.
"""

import argparse
import json
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "lab"))
import quantity

SHARES = [0, 0.2, 0.6, 0.8, 0.9, 0.96, 0.98, 0.99, 0.999]
DENSE_AT = (0, 0.9, 0.99)
DENSE = {"infold": ["bfp32"], "rivals": ["gloo-ring"]}
SPARSE = {"infold": ["blocks-bfp32"], "rivals": ["gloo-union"]}

# The name in results, the name in the picture, the colour and the line.
CURVES = [
    ("gloo-ring", "Gloo, ring", "#a8a8a8", "-"),
    ("infold-bfp32", "infold, dense", "#e0a458", "-"),
    ("gloo-union", "Gloo, bitmap and ring over the union", "#5f9e6e", "-"),
    ("infold-blocks-bfp32", "infold, blocks", "#4c6a92", "-"),
]
BOUND = ("infold-blocks-bfp32", "what the links allow in the network", "#444444", ":")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="what", required=True)
    run = parts.add_parser("run")
    run.add_argument("infold", type=pathlib.Path)
    run.add_argument("folder", type=pathlib.Path)
    run.add_argument("--bytes", type=quantity.size, default=104857600)
    run.add_argument("--ranks", type=int, default=8)
    run.add_argument("--link", default="100mbit")
    run.add_argument("--rounds", type=int, default=3)
    run.add_argument("--shares", type=float, nargs="+", default=SHARES)
    draw = parts.add_parser("draw")
    draw.add_argument("folder", type=pathlib.Path)
    draw.add_argument("picture", type=pathlib.Path)
    return parser.parse_args()


def results(folder):
    """Returns the results as (share, contents of results.json), ordered by share."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*/results.json")]
    return sorted((each["conditions"]["zeros"], each) for each in found if each["complete"])


def run_all(words):
    done = [share for share, _ in results(words.folder)] if words.folder.exists() else []
    for share in words.shares:
        if share in done:
            continue
        who = {key: SPARSE[key] + (DENSE[key] if share in DENSE_AT else []) for key in SPARSE}
        subprocess.run(
            [
                words.infold,
                "bench",
                "compare",
                "--ranks",
                str(words.ranks),
                "--link",
                words.link,
                "--bytes",
                str(words.bytes),
                "--infold",
                ",".join(who["infold"]),
                "--rivals",
                ",".join(who["rivals"]),
                "--rounds",
                str(words.rounds),
                "--iterations",
                "1",
                "--zeros",
                str(share),
                "--out",
                words.folder / f"{share}",
            ],
            check=True,
        )


def series(found, name, field):
    """Returns the shares and seconds of one implementation."""
    points = [
        (share, each[field] / 1e3)
        for share, result in found
        for each in result["summaries"]
        if each["impl"] == name and field in each
    ]
    return [share for share, _ in points], [seconds for _, seconds in points]


def draw_all(words):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = results(words.folder)
    conditions = found[0][1]["conditions"]
    figure, axes = pyplot.subplots(figsize=(7.5, 4.6), layout="constrained")
    for name, label, colour, line in CURVES:
        shares, seconds = series(found, name, "median_ms")
        axes.plot(
            [1 - share for share in shares],
            seconds,
            line,
            color=colour,
            linewidth=1.8,
            marker="o",
            markersize=3.5,
            label=label,
        )
    name, label, colour, line = BOUND
    shares, seconds = series(found, name, "bound_ms")
    axes.plot([1 - share for share in shares], seconds, line, color=colour, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.invert_xaxis()
    ticks = [share for share, _ in found]
    axes.set_xticks([1 - share for share in ticks], [f"{share * 100:g}" for share in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("zeros of each rank's tensor, %, in other rows of 256 elements")
    axes.set_ylabel("seconds a sum")
    rate = f"{quantity.rate(conditions['rate']) / 1e6:g} Mbit/s"
    axes.set_title(
        f"{conditions['bytes'][0] / 2**20:.0f} MiB of f32, "
        f"{conditions['worlds'][0]} ranks, links of {rate}",
        loc="left",
        fontsize=11,
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(words.picture, dpi=110)
    print(f"picture: {words.picture}")


def main():
    words = parse()
    if words.what == "run":
        run_all(words)
    else:
        draw_all(words)


main()
