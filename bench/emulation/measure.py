#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares steps of real ranks in the lab with steps of a few real ranks beside an emulator, in
turn. It measures the time of a step, and the bytes that arrive at rank 0's host.

Needs root, and the environment that `./dev example` makes:

    build/python/venv/bin/python bench/emulation/measure.py --ranks 8 --real 2 --link 100mbit

The emulator runs at the switch, and real ranks keep their links. Prints one table; --json writes
all samples.
"""

import argparse
import contextlib
import json
import pathlib
import signal
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "examples"))
import lab_job

PACED_S = 30


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--real", type=int, default=2)
    parser.add_argument("--link", default="100mbit", help="of every link (default 100mbit)")
    parser.add_argument(
        "--rtt-us",
        type=int,
        default=0,
        help="round trip of emulated ranks, beside their links' own (default 0)",
    )
    parser.add_argument("--width", type=int, default=1024, help="of the model's hidden layers")
    parser.add_argument("--format", default="", help="wire format of gradients (default exact)")
    parser.add_argument("--batch", type=int, default=4, help="samples of a rank's step")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4, help="of each round, after two to warm up")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all samples")
    return lab_job.parse(parser)


@contextlib.contextmanager
def emulator(options, reports):
    """Runs in the switch's namespace. Its report is added to the list when it has ended."""
    process = lab_job.on_host(
        "switch",
        lab_job.INFOLD,
        "emulate",
        "--listen",
        lab_job.SWITCH,
        "--ranks",
        str(options.ranks),
        "--real",
        str(options.real),
        "--link",
        options.link,
        "--overhead",
        "42",
        "--real-links",
        "--json",
        "--rtt-us",
        str(options.rtt_us),
        "--log-level",
        "error",
    )
    try:
        if "listening" not in process.stdout.readline():
            raise RuntimeError("the emulator did not start")
        yield lab_job.SWITCH
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PACED_S)[0]
        if said:
            reports.append(json.loads(said))


def train(options, world, ranks, switch):
    """Returns the steps of rank 0, and its last object."""
    steps = []
    words = [
        "--backend",
        "infold",
        "--steps",
        str(options.steps),
        "--batch",
        str(options.batch),
        "--width",
        str(options.width),
        *(["--format", options.format] if options.format else []),
    ]
    last = lab_job.train(
        ranks,
        *words,
        on_step=steps.append,
        INFOLD_SWITCHES=switch,
        WORLD_SIZE=str(world),
        **({"INFOLD_REAL_RANKS": str(ranks)} if ranks < world else {}),
    )
    return [each["seconds"] for each in steps], last


def main():
    options = parse()
    lab_job.need_root()
    samples = {"real": [], "emulated": []}
    received = {"real": [], "emulated": []}
    reports = []
    try:
        with lab_job.lab(options.ranks, options.link):
            for number in range(options.rounds):
                for way in samples:
                    place = lab_job.switch() if way == "real" else emulator(options, reports)
                    ranks = options.ranks if way == "real" else options.real
                    with place as address:
                        seconds, last = train(options, options.ranks, ranks, address)
                    samples[way] += seconds
                    received[way].append(last["received_bytes"])
                    print(
                        f"  round {number}, {way}: "
                        f"{', '.join(f'{each:.3f}' for each in seconds)} s",
                        file=sys.stderr,
                        flush=True,
                    )
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(f"measure: {error}")
    print(
        f"\n{options.ranks} ranks, {options.real} of them real where the others are emulated; "
        f"links of {options.link}, model of width {options.width}, {options.rounds} rounds"
    )
    middle = {way: statistics.median(each) for way, each in samples.items()}
    for way, each in samples.items():
        print(
            f"{way:9} {1e3 * middle[way]:8.1f} ms a step ({1e3 * min(each):.1f} to "
            f"{1e3 * max(each):.1f}), {statistics.median(received[way]) / 1e6:.3f} MB a step"
        )
    print(
        f"emulated to real: {middle['emulated'] / middle['real']:.3f} of the time, "
        f"{statistics.median(received['emulated']) / statistics.median(received['real']):.4f} of "
        "the bytes"
    )
    late = [each["late_us_p99"] for each in reports]
    print(
        f"99 of 100 packets left late by {statistics.median(late):.0f} us at most, "
        f"{reports[0]['late_us_allowed']:.0f} us are allowed; "
        f"{statistics.median(each['packet_us'] for each in reports):.2f} us of processor time a "
        "packet"
    )
    if options.json:
        options.json.write_text(
            json.dumps(
                {
                    "conditions": {k: v for k, v in vars(options).items() if k != "json"},
                    "samples": samples,
                    "received": received,
                    "reports": reports,
                }
            )
            + "\n",
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
