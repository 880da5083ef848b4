#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formats C and C++ with clang-format-19 and Python with ruff, or checks them with --check."""

import argparse
import pathlib
import subprocess
import sys

import python_lint
from tidy_checks.repo import Repo

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_FORMAT = ["clang-format-19", "--style=file"]


def sources():
    return list(Repo(ROOT).cpp())


def unformatted(files):
    """Returns the files that clang-format would change."""
    if not files:
        return []
    result = subprocess.run(
        [*CLANG_FORMAT, "--dry-run", *files], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if result.returncode != 0:
        sys.exit(f"dev: clang-format-19 failed:\n{result.stderr}")
    return sorted(
        {
            line.split(":")[0]
            for line in result.stderr.splitlines()
            if "clang-format-violations" in line
        }
    )


def main():
    parser = argparse.ArgumentParser(prog="./dev fmt", description=__doc__)
    parser.add_argument("--check", action="store_true", help="list files that differ, change none")
    options = parser.parse_args()

    wrong, python = unformatted(sources()), python_lint.unformatted()
    if options.check:
        for path in [*wrong, *python]:
            print(f"{path}: not formatted; run ./dev fmt")
        return 1 if wrong or python else 0
    if wrong:
        subprocess.run([*CLANG_FORMAT, "-i", *wrong], cwd=ROOT, check=True)
    python_lint.format_all()
    print(f"fmt: {len(wrong) + len(python)} files changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
