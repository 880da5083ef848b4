# SPDX-License-Identifier: Apache-2.0
"""Proves infold on this machine: what a GPU does, what many processors do, or both.

gpu    compiles the PyTorch backend against this machine's torch, runs its tests on the GPU, trains
       with DDP beside Gloo, and measures the parts of an all_reduce of CUDA tensors
cores  sums 25 MiB over 4 and 8 ranks and a switch, a processor each, beside Gloo's ring; measures
       the processor time of one rank

Without a profile, both run. A profile takes 5 minutes at most and needs no network. Figures go to
prove.json and all output to prove.log as they come; a step that fails does not stop the next. The
profile "cores" makes network namespaces, for which it needs root. docs/benchmarks/gpu.md in
infold's repository has more.
"""

import argparse
import json
import pathlib
import signal
import sys
import time

import machine as machines
from report import Report
from steps import FOLDER, PROFILE_LIMIT_S, PROFILES, REHEARSAL_LIMIT_S, STEPS
from supervision import run_step

LAB_NAME = "infold-bench"


def parse():
    parser = argparse.ArgumentParser(
        prog="prove.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("profiles", nargs="*", metavar="gpu|cores", help="what to prove")
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=FOLDER / "results",
        metavar="FOLDER",
        help="for prove.json and prove.log (default: results/ beside this script)",
    )
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="run each step in small and without a limit, to see that it runs; the "
        "figures say nothing",
    )
    options = parser.parse_args()
    for profile in options.profiles:
        if profile not in PROFILES:
            parser.error(f"there is no profile '{profile}'; choose from {', '.join(PROFILES)}")
    options.profiles = options.profiles or list(PROFILES)
    return options


def run_profile(profile, machine, report):
    end = time.monotonic() + PROFILE_LIMIT_S
    for step in (each for each in STEPS if each.profile == profile):
        limit_s = min(step.limit_s, int(end - time.monotonic()))
        if machine["rehearsal"]:
            limit_s = REHEARSAL_LIMIT_S
        reason = step.reason(machine)
        if not reason and limit_s < 5:
            reason = f"the profile's {PROFILE_LIMIT_S} s are over"
        if reason:
            report.skip(step.name, profile, reason)
        else:
            run_step(step, machine, limit_s, report)


def interrupted(_signal, _frame):
    raise KeyboardInterrupt


def open_report(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return Report(folder, json.loads((FOLDER / "about.json").read_text("utf-8")))
    except OSError as error:
        print(f"prove: cannot write results: {error}", file=sys.stderr)
        sys.exit(2)


def main():
    options = parse()
    signal.signal(signal.SIGTERM, interrupted)
    report = None
    try:
        report = open_report(options.out)
        machine = machines.describe(report.log) | {"rehearsal": options.rehearse}
        report.describe(machine)
        for profile in options.profiles:
            run_profile(profile, machine, report)
    except KeyboardInterrupt:
        if report:
            report.close(complete=False)
        print("prove: stopped on request; the results so far are in", options.out, file=sys.stderr)
        return 130
    finally:
        if report:
            machines.remove_lab(LAB_NAME)
    report.close(complete=True)
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
