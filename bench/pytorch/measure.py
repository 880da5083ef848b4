#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the PyTorch backend in the lab:

small         how much more a call costs than in C++
overlap       the share of the communication that a backward pass does not hide
recommender   steps of a model whose gradients are nearly all zeros, compared with Gloo
automatic     the cost of choosing the layout, over a training of that model

Needs root, and the environment that `./dev example` makes:

    build/python/venv/bin/python bench/pytorch/measure.py small --rounds 5
    build/python/venv/bin/python bench/pytorch/measure.py overlap --link 100mbit --rounds 3
    build/python/venv/bin/python bench/pytorch/measure.py recommender --rounds 5
    build/python/venv/bin/python bench/pytorch/measure.py automatic --ranks 4 --rounds 5

`./dev example switch --ranks 4 --rounds 5` compares training steps with Gloo's. Prints one JSON
object per line.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "examples" / "sparse")]
import lab_job
import run as sparse_example

RANK = "bench/pytorch/rank.py"


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["small", "overlap", "recommender", "automatic"])
    parser.add_argument("--ranks", type=int, default=0, help="default 2, 4 and 8")
    parser.add_argument("--link", default="", help="default none, then 100mbit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64, help="samples of a recommender's rank")
    parser.add_argument(
        "--steps",
        type=int,
        default=140,
        help="steps of a training; automatic chooses from 64 calls before",
    )
    parser.add_argument("--rows", type=int, default=1 << 10, help="rows of a recommender's field")
    return lab_job.parse(parser)


def median(values):
    return sorted(values)[len(values) // 2]


def show(**fields):
    print(json.dumps(fields), flush=True)


def in_cpp(world, switch):
    """Returns the median microseconds of a 4 KiB sum, from `infold bench allreduce` on the same
    hosts."""
    words = [
        lab_job.INFOLD,
        "bench",
        "allreduce",
        "--switch",
        switch,
        "--job",
        "cpp",
        "--ranks",
        str(world),
        "--bytes",
        "4096",
        "--iterations",
        "500",
        "--json",
    ]
    ranks = [lab_job.on_host(rank, *words, "--rank", str(rank)) for rank in range(world)]
    out = [rank.communicate()[0] for rank in ranks][0]
    return 1e3 * json.loads(out.splitlines()[-1])["median_ms"]


def small(options):
    world = options.ranks or 2
    cpp, python = [], []
    with lab_job.lab(world, options.link or "none"), lab_job.switch() as switch:
        for _ in range(options.rounds):
            cpp.append(in_cpp(world, switch))
            python.append(
                lab_job.train(world, "small", program=RANK, INFOLD_SWITCHES=switch)["median_us"]
            )
            show(what="small", cpp_us=round(cpp[-1], 1), pytorch_us=round(python[-1], 1))
    show(
        what="small",
        world=world,
        cpp_us=round(median(cpp), 1),
        pytorch_us=round(median(python), 1),
        above_us=round(median(python) - median(cpp), 1),
    )


def overlap(options):
    world = options.ranks or 4
    exposed = []
    with lab_job.lab(world, options.link or "100mbit"), lab_job.switch() as switch:

        def run(compute):
            return lab_job.train(
                world,
                "overlap",
                "--iterations",
                "3",
                "--compute",
                str(compute),
                program=RANK,
                INFOLD_SWITCHES=switch,
            )

        for _ in range(options.rounds):
            alone = run(0.0)
            communication = alone["step_s"] - alone["compute_s"]
            both = run(communication)
            share = (both["step_s"] - both["compute_s"]) / communication
            exposed.append(share)
            show(
                what="overlap",
                communication_s=round(communication, 3),
                step_s=round(both["step_s"], 3),
                exposed=round(share, 3),
            )
    show(what="overlap", world=world, exposed=round(median(exposed), 3))


def recommender(options):
    world, rate = options.ranks or 8, options.link or "100mbit"
    hook = {"infold, hook": (["--backend", "infold", "--hook"], {})}
    ways = sparse_example.ways(sparse_example.WAYS | hook, steps=4, batch=options.batch)
    results = lab_job.measure(ways, world, rate, options.rounds, program=sparse_example.PROGRAM)
    lab_job.compare(results, world, rate)


def automatic(options):
    """Compares the automatic choice with dense and with blocks, in one training."""
    words = ["--rows", str(options.rows)]
    among = {
        "dense": (["--backend", "infold", *words], {"INFOLD_LAYOUT": "dense"}),
        "blocks": (["--backend", "infold", *words], {"INFOLD_LAYOUT": "blocks"}),
        "automatic": (["--backend", "infold", *words], {"INFOLD_LAYOUT": "automatic"}),
        "hook": (["--backend", "infold", "--hook", *words], {}),
    }
    world, rate = options.ranks or 4, options.link or "100mbit"
    ways = sparse_example.ways(among, options.steps, options.batch)
    results = lab_job.measure(ways, world, rate, options.rounds, program=sparse_example.PROGRAM)
    lab_job.compare(results, world, rate)


def main():
    options = parse()
    lab_job.need_root()
    try:
        {"small": small, "overlap": overlap, "recommender": recommender, "automatic": automatic}[
            options.what
        ](options)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"measure: {error}")


if __name__ == "__main__":
    main()
