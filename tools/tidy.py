#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the checks that compilers do not make: layers, banned calls, lengths, dead files,
documents, formatting.

The checks are in tools/tidy_checks/, a module for each subject. ruff checks and formats Python,
clang-format formats the rest, and clang-tidy looks for bugs in the code of ranks and switches. The
first run of clang-tidy takes minutes; later runs read only what has changed.
"""

import argparse
import pathlib
import sys

import cpp_lint
import fmt
import python_lint
import tidy_checks  # noqa: F401  registers the checks
from tidy_checks.repo import CHECKS, Repo

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(
        prog="./dev tidy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="list the checks and their rules")
    parser.add_argument(
        "--check",
        action="append",
        metavar="NAME",
        default=[],
        choices=[c.name for c in CHECKS],
        help="run only this check; repeatable",
    )
    parser.add_argument("--quick", action="store_true", help="leave out clang-tidy")
    options = parser.parse_args()
    if options.list:
        for check in CHECKS:
            print(f"{check.name:16} {check.rule}")
        print(f"{'ruff':16} Python passes the checks of pyproject.toml")
        print(f"{'clang-tidy':16} C++ passes the checks of .clang-tidy, and clang's warnings")
        print(f"{'format':16} files are as clang-format and ruff leave them")
        return 0

    repo = Repo(ROOT)
    problems = 0
    for check in CHECKS:
        if options.check and check.name not in options.check:
            continue
        for finding in sorted(check.function(repo)):
            problems += not finding.warning
            kind = "warning: " if finding.warning else ""
            print(f"{finding.path}:{finding.line}: {kind}{finding.message} [{check.name}]")
    if not options.check:
        for line in python_lint.findings():
            problems += 1
            print(f"{line} [ruff]")
        for line in [] if options.quick else cpp_lint.findings():
            problems += 1
            print(line)
        for path in [*fmt.unformatted(fmt.sources()), *python_lint.unformatted()]:
            problems += 1
            print(f"{path}:1: not formatted; run ./dev fmt [format]")
    print(f"tidy: {len(repo.paths)} files, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
