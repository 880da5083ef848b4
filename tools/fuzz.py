#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the libFuzzer targets, as many at a time as there are cores.

Seeds come from fuzz/corpus/TARGET. Inputs that libFuzzer adds are kept in build/fuzz/corpus/TARGET,
and inputs that fail in build/fuzz/failures/TARGET.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import time

from testing.process import stop_group

ROOT = pathlib.Path(__file__).resolve().parent.parent
STATE = ROOT / "build" / "fuzz"
CORES = len(os.sched_getaffinity(0))
# An input that takes longer is a hang: decoders take microseconds, whole runs milliseconds.
INPUT_LIMIT_S = 10
# A target itself counts as hung if it runs this long past its limit.
GRACE_S = 60


def named_targets():
    """Returns the names of all targets, as cmake/module.cmake makes them."""
    for source in ROOT.glob("*/**/*_fuzz.cc"):
        for folder in source.parents:
            lists = folder / "CMakeLists.txt"
            text = lists.read_text(encoding="utf-8") if lists.is_file() else ""
            module = re.search(r"^infold_module\((\w+)", text, re.MULTILINE)
            if module:
                yield f"{module[1]}_{source.stem}"
                break


def check_name(target):
    names = sorted(named_targets())
    if target in names:
        return
    close = difflib.get_close_matches(target, names, n=1, cutoff=0.75)
    meant = f"did you mean {close[0]}?" if close else f"there are: {', '.join(names)}"
    print(f"dev: no fuzz target '{target}'; {meant}", file=sys.stderr)
    sys.exit(2)


def parse():
    parser = argparse.ArgumentParser(
        prog="./dev fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", nargs="?", metavar="TARGET", help="only this one (default: all)")
    parser.add_argument("--list", action="store_true", help="list the targets")
    parser.add_argument(
        "--seconds",
        type=int,
        default=60,
        metavar="N",
        help="time for each target, 1 to 86400 (default 60)",
    )
    parser.add_argument(
        "--total-seconds",
        type=int,
        metavar="N",
        help="share this time between all targets instead, 1 to 86400",
    )
    parser.add_argument(
        "--blind",
        action="store_true",
        help="programs that see the coverage of the target's own file alone, with the "
        "libraries of the preset asan",
    )
    parser.add_argument("--repeat", metavar="FILE", help="run TARGET once, on this input")
    # ./dev asks this before it installs and builds what the targets need.
    parser.add_argument("--name-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.target:
        check_name(options.target)
    for name in ("seconds", "total_seconds"):
        value = getattr(options, name)
        if value is not None and not 1 <= value <= 86400:
            parser.error(f"--{name.replace('_', '-')} must be a whole number from 1 to 86400")
    if options.repeat and not options.target:
        parser.error("--repeat needs a TARGET")
    return options


def programs(preset):
    return ROOT / "build" / preset / "fuzzers"


def build(preset, build_preset):
    for command in (["cmake", "--preset", preset], ["cmake", "--build", "--preset", build_preset]):
        result = subprocess.run(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        if result.returncode != 0:
            print(result.stdout, file=sys.stderr, end="")
            sys.exit(f"dev: building preset '{preset}' failed")
    return sorted((programs(preset) / "targets.txt").read_text(encoding="utf-8").split())


def command_for(preset, target, seconds):
    corpus = STATE / "corpus" / target
    failures = STATE / "failures" / target
    corpus.mkdir(parents=True, exist_ok=True)
    failures.mkdir(parents=True, exist_ok=True)
    command = [
        str(programs(preset) / target),
        f"-max_total_time={seconds}",
        f"-timeout={INPUT_LIMIT_S}",
        f"-artifact_prefix={failures}/",
        "-print_final_stats=1",
        str(corpus),
    ]
    seeds = ROOT / "fuzz" / "corpus" / target
    if seeds.is_dir():
        command.append(str(seeds))
    return command


def environment():
    # addr2line comes with g++. llvm-symbolizer would need a package of its own.
    return {
        **os.environ,
        "ASAN_OPTIONS": "allow_addr2line=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def telling_lines(lines):
    """Returns the lines that describe the failure. A sanitizer prints pages of memory after
    them."""
    for index, line in enumerate(lines):
        if re.search(r"ERROR: |runtime error: |CHECK", line):
            return lines[index : index + 25]
    return lines[-25:]


class Run:
    """A target that runs, with its output in a log."""

    def __init__(self, preset, target, seconds):
        STATE.mkdir(parents=True, exist_ok=True)
        self.target = target
        self.log = STATE / f"{target}.log"
        self.deadline = time.monotonic() + seconds + GRACE_S
        self.before = self.failures()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command_for(preset, target, seconds),
                cwd=ROOT,
                env=environment(),
                text=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def failures(self):
        return set((STATE / "failures" / self.target).glob("*"))

    def ended(self):
        if self.process.poll() is None and time.monotonic() < self.deadline:
            return False
        stop_group(self.process)
        return True

    def report(self):
        """Prints the outcome. Returns whether the target found nothing."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        if self.process.returncode == 0:
            stats = dict(
                line[6:].split(":", 1)
                for line in text.splitlines()
                if line.startswith("stat::") and ":" in line[6:]
            )
            count = stats.get("number_of_executed_units", "?").strip()
            print(f"{self.target}: nothing found in {count} inputs", flush=True)
            return True
        print("\n".join("    " + line for line in telling_lines(text.splitlines())))
        print(f"{self.target}: FAILED; whole log: {self.log.relative_to(ROOT)}")
        for path in sorted(self.failures() - self.before):
            print(f"repeat with: ./dev fuzz {self.target} --repeat {path.relative_to(ROOT)}")
        sys.stdout.flush()
        return False


def run_all(preset, targets, seconds):
    waiting = list(targets)
    running = []
    good = True
    try:
        while waiting or running:
            while waiting and len(running) < CORES:
                running.append(Run(preset, waiting.pop(0), seconds))
            for run in [r for r in running if r.ended()]:
                running.remove(run)
                good = run.report() and good
            time.sleep(0.1)
    finally:
        for run in running:
            stop_group(run.process)
    return good


def repeat(preset, target, file):
    path = pathlib.Path(file)
    if not path.is_file():
        path = ROOT / file  # Reports print paths relative to the repository.
    if not path.is_file():
        sys.exit(f"dev: no file {file}")
    return subprocess.run(
        [str(programs(preset) / target), str(path)], env=environment(), check=False
    ).returncode


def main():
    options = parse()
    if options.name_only:
        return 0
    preset, build_preset = ("asan", "fuzz-blind") if options.blind else ("fuzz", "fuzz")
    targets = build(preset, build_preset)
    if options.list:
        print("\n".join(targets))
        return 0
    if options.target and options.target not in targets:
        print(
            f"dev: no fuzz target '{options.target}'; there are: {', '.join(targets)}",
            file=sys.stderr,
        )
        return 2
    if options.repeat:
        return 1 if repeat(preset, options.target, options.repeat) else 0
    targets = [options.target] if options.target else targets
    if not targets:
        print("dev: there are no fuzz targets", file=sys.stderr)
        return 1
    seconds = options.seconds
    if options.total_seconds:
        seconds = max(1, options.total_seconds * CORES // max(len(targets), CORES))
    return 0 if run_all(preset, targets, seconds) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
