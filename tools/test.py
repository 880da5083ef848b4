#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what proves infold right, stage by stage, and ends with one line of counts.

Without FILTER, it runs all stages but four, which run on request and before a release: "full",
after a change of the machines of src/core, whose states it searches; "prove", after a change of
packaging, because it compiles infold and its libraries once more; "headers" and "torch-2.11", which
only compile. From scratch and with an empty compiler cache the others take somewhat more than an
hour on 2 free cores. Most of that is compiling, which the cache saves in the next run. With FILTER,
a regular expression, it runs only the ctest cases that match, in the stage that --stage names
(default tests).
"""

import argparse
import pathlib
import signal
import sys

from testing.ahead import Ahead
from testing.process import Ticker
from testing.report import Tally
from testing.stages import Build, Cases, Command, Context, PythonCases

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "logs"
FAILURES_SHOWN = 10  # failures that are shown for each stage
# How much of each failure is shown. The first error tells most, and what follows from it may be
# long.
FIRST_LINES_SHOWN = 20
LAST_LINES_SHOWN = 10

# The tests that often wait come first, so that what the later stages need is built meanwhile. A
# stage that exceeds its limit counts as hung. The limit must hold on two cores with a load of ten,
# which makes a stage five times slower. A new stage is one line.
STAGES = (
    Cases("tests", "unit, property and integration tests", 6000, "release", "tests"),
    PythonCases("python", "the PyTorch package, against torch 2.13", 6000),
    PythonCases(
        "python-2.11", "the same against torch 2.11, where it is installed", 6000, torch="2.11"
    ),
    PythonCases(
        "python-2.14", "the same against torch 2.14, where it is installed", 6000, torch="2.14"
    ),
    Cases("asan", "tests of all that meets a network or a user under asan and ubsan", 7200, "asan"),
    Cases("tsan", "tests of the layers with threads under tsan", 6000, "tsan"),
    Build("headers", "every header compiles alone", 300, "release", "headers"),
    Build("bare-core", "core without exceptions and RTTI", 300, "bare-core"),
    Command(
        "torch-2.11",
        "the backend compiles with the headers of torch 2.11, and locks",
        3600,
        ("tools/torch_headers.py", "2.11.0"),
    ),
    Command(
        "prove",
        "the folder for machines with a GPU, rehearsed in a bare root",
        3600,
        ("tools/package.py", "prove", "--check"),
        "release",
        builder=("tools/package.py", "prove"),
        needs_root=True,
    ),
    Command(
        "tidy",
        "layers, style, documents, bugs",
        3600,
        ("tools/tidy.py",),
        builder=("tools/cpp_lint.py",),
    ),
    Command(
        "fuzz",
        "every fuzz target for a moment",
        3600,
        ("tools/fuzz.py", "--blind", "--total-seconds", "30"),
        "asan",
        "fuzz-blind",
    ),
    Command(
        "swarm",
        "4,000 simulated runs",
        6000,
        ("build/release/infold", "sim", "--swarm", "4000"),
        "release",
    ),
    Cases("full", "every interleaving of the larger cases", 7200, "release", "full"),
)
ON_REQUEST = ("headers", "torch-2.11", "prove", "full")
# These take at most 3 minutes from scratch on 2 cores. Most of that is compiling, so only the most
# important parts are built: packets, machines, endpoints, joining and communicator.
QUICK_STAGES = (
    Cases("quick", "protocol, machines, endpoints and communicator", 3000, "quick"),
    Command("tidy", "layers, style, documents", 900, ("tools/tidy.py", "--quick")),
)


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev test",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="stages:\n" + "\n".join(f"  {s.name:12} {s.title}" for s in STAGES),
    )
    parser.add_argument(
        "filter", nargs="?", metavar="FILTER", help="run only the ctest cases that match"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the stages that fit in 3 minutes: " + ", ".join(s.name for s in QUICK_STAGES),
    )
    parser.add_argument(
        "--stage",
        action="append",
        metavar="NAME",
        choices=[s.name for s in STAGES],
        help="run this stage; repeatable",
    )
    options = parser.parse_args()
    if options.quick and options.stage:
        parser.error("--quick and --stage exclude each other")
    return options


def chosen_stages(options):
    if options.stage:
        return [s for s in STAGES if s.name in options.stage]
    if options.filter:
        return [s for s in STAGES if s.name == "tests"]
    if options.quick:
        return list(QUICK_STAGES)
    return [s for s in STAGES if s.name not in ON_REQUEST]


def run_stage(stage, position, context, ahead):
    path = LOGS / f"{stage.name}.log"
    ticker = Ticker(f"[{position}] {stage.name}: {stage.title}")
    ticker.tick()
    missing = ahead.wait_for(stage, ticker)
    waited_s = ticker.elapsed_s()
    if missing is not None:
        tally = stage.failed(missing)
    elif reason := stage.skip_reason():
        tally = Tally(skips=[(stage.name, reason)])
    else:
        with open(path, "a", encoding="utf-8") as log:
            tally = stage.run(context, log, ticker)
    ticker.done(str(tally), waited_s)
    show_failures(tally.failures, path)
    return tally


def show_failures(failures, path):
    for failure in failures[:FAILURES_SHOWN]:
        print(f"    {failure.name}:")
        said = failure.said or path.read_text(encoding="utf-8", errors="replace")
        print("\n".join("        " + line for line in excerpt(said.splitlines())))
    if failures:
        print(f"    whole log: {path.relative_to(ROOT)}")


def excerpt(lines):
    left_out = len(lines) - FIRST_LINES_SHOWN - LAST_LINES_SHOWN
    if left_out <= 1:
        return lines
    gap = f"... {left_out} lines ..."
    return [*lines[:FIRST_LINES_SHOWN], gap, *lines[-LAST_LINES_SHOWN:]]


def summarise(total):
    for name, reason in total.skips:
        print(f"skipped  {name}: {reason}")
    for failure in total.failures:
        print(f"failed   {failure.name}; repeat with: {failure.repeat}")
    print(total)


def interrupted(_signal, _frame):
    raise KeyboardInterrupt


def main():
    options = parse()
    signal.signal(signal.SIGTERM, interrupted)
    LOGS.mkdir(parents=True, exist_ok=True)
    stages = chosen_stages(options)
    context = Context(ROOT, LOGS, options.filter)
    total = Tally()
    try:
        with Ahead(stages, context) as ahead:
            for index, stage in enumerate(stages, start=1):
                total.add(run_stage(stage, f"{index}/{len(stages)}", context, ahead))
    except KeyboardInterrupt:
        print("\ninterrupted; the counts above are of the stages that ended", file=sys.stderr)
        return 130
    summarise(total)
    if not total.passed and not total.failures and not total.skips:
        print("dev: no case matches the filter", file=sys.stderr)
        return 1
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
