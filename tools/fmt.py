#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Formats C and C++ sources with clang-format-19, or checks them with --check."""

import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUFFIXES = {".c", ".cc", ".h"}


def sources():
    """Files git knows or would add, so that build output is never touched."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = (ROOT / name for name in listing.split("\0") if name)
    return sorted(p for p in paths if p.suffix in SUFFIXES and p.exists())


def main():
    parser = argparse.ArgumentParser(prog="./dev fmt", description=__doc__)
    parser.add_argument("--check", action="store_true", help="list files that differ, change none")
    options = parser.parse_args()

    files = [str(p) for p in sources()]
    if not files:
        return 0
    mode = ["--dry-run", "--Werror"] if options.check else ["-i"]
    result = subprocess.run(["clang-format-19", "--style=file", *mode, *files],
                            capture_output=True, text=True, check=False)
    if result.returncode == 0:
        return 0
    wrong = sorted({line.split(":")[0] for line in result.stderr.splitlines()
                    if "clang-format-violations" in line})
    if not wrong:
        print(result.stderr, file=sys.stderr, end="")
    for path in wrong:
        print(f"{pathlib.Path(path).relative_to(ROOT)}: not formatted; run ./dev fmt")
    return 1


if __name__ == "__main__":
    sys.exit(main())
