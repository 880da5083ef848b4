#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the program for Tofino 1 and 2, where p4c's back end for them is installed. It must fit
into the chip's stages, with each register in one of them. Prints what each stage has. Where the
back end's assembler is installed as well, it must make a binary.

Usage: tofino_test.py

Without p4c-barefoot in PATH the test is skipped. docs/switches/p4.md says where it comes from.
"""

import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
COMPILER, ASSEMBLER = "p4c-barefoot", "bfas"
# The compiler also numbers stages beyond those that exist.
STAGES = {"tofino": 12, "tofino2": 20}
ARCHITECTURES = {"tofino": "tna", "tofino2": "t2na"}
PAIRS = 32
REGISTERS = PAIRS + 8
# The first selection in a packet, as the assembly has it.
ETHERNET_IPV4 = "0x0800:"
LOOKUPS = ("exact_match", "ternary_match", "gateway", "hash_action")


def run(target, *words):
    done = subprocess.run(
        words, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{target}: {done.stdout[-3000:]}")


def assembly_of(target):
    with tempfile.TemporaryDirectory() as folder:
        run(
            target,
            COMPILER,
            "--target",
            target,
            "--arch",
            ARCHITECTURES[target],
            "-I",
            "planes/p4/pipeline",
            "-o",
            folder,
            "planes/p4/pipeline/targets/tna/infold.p4",
        )
        assembly = pathlib.Path(folder) / "pipe" / "infold.bfa"
        if shutil.which(ASSEMBLER) is not None:
            binary = pathlib.Path(folder) / "binary"
            (binary / "logs").mkdir(parents=True)
            run(
                target,
                ASSEMBLER,
                "--target",
                target,
                "--no-condense",
                "-o",
                str(binary),
                str(assembly),
            )
            if not (binary / f"{target}.bin").exists():
                sys.exit(f"{target}: {ASSEMBLER} makes no binary")
            print(f"{target}: assembled")
        return assembly.read_text(encoding="utf-8")


def check(target):
    assembly = assembly_of(target)
    if ETHERNET_IPV4 not in assembly:
        sys.exit(
            f"{target}: the compiler writes no values of the parser's selections; it lacks "
            "pull request 5753 of p4lang/p4c"
        )
    parts = re.split(r"^stage (\d+) (ingress|egress):\n", assembly, flags=re.M)[1:]
    places = collections.defaultdict(set)
    print(f"{target}: stage, tables, registers, SRAM blocks")
    for number, side, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        tables = re.findall(rf"^  ({'|'.join(LOOKUPS)}) ", body, flags=re.M)
        registers = re.findall(r"^  stateful \S+\$salu\.(\S+):", body, flags=re.M)
        blocks = sum(
            len(columns.split(","))
            for columns in re.findall(r"^    column: (\[.+\]|\d+)$", body, flags=re.M)
        )
        for register in registers:
            places[register].add(number)
        print(f"  {number:>2} {side:<7} {len(tables):>2} {len(registers):>2} {blocks:>3}")
    last = max(int(number) for number in parts[::3])
    several = [register for register, stages in places.items() if len(stages) > 1]
    sums = [register for register in places if re.fullmatch(r"sums\d+", register)]
    if last >= STAGES[target] or several or len(sums) != PAIRS or len(places) != REGISTERS:
        sys.exit(
            f"{target}: the last stage is {last} of {STAGES[target]}; {len(sums)} sums; "
            f"{len(places)} registers; in several stages: {several}"
        )


def main():
    if shutil.which(COMPILER) is None:
        print(f"skipped: {COMPILER} is not installed; see docs/switches/p4.md")
        sys.exit(SKIPPED)
    for target in STAGES:
        check(target)


if __name__ == "__main__":
    main()
