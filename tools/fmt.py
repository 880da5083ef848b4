#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formats C and C++ sources with clang-format-19, or checks them with --check."""

import argparse
import pathlib
import subprocess
import sys

from tidy_checks.repo import Repo

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_FORMAT = ["clang-format-19", "--style=file"]


def sources():
    return list(Repo(ROOT).cpp())


def unformatted(files):
    """The files that clang-format would change."""
    if not files:
        return []
    result = subprocess.run([*CLANG_FORMAT, "--dry-run", *files], cwd=ROOT, check=False,
                            capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"dev: clang-format-19 failed:\n{result.stderr}")
    return sorted({line.split(":")[0] for line in result.stderr.splitlines()
                   if "clang-format-violations" in line})


def main():
    parser = argparse.ArgumentParser(prog="./dev fmt", description=__doc__)
    parser.add_argument("--check", action="store_true", help="list files that differ, change none")
    options = parser.parse_args()

    wrong = unformatted(sources())
    if options.check:
        for path in wrong:
            print(f"{path}: not formatted; run ./dev fmt")
        return 1 if wrong else 0
    if wrong:
        subprocess.run([*CLANG_FORMAT, "-i", *wrong], cwd=ROOT, check=True)
    print(f"fmt: {len(wrong)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
