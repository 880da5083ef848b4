#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the help text of every subcommand with cli/help/, so that no change goes unnoticed.

Usage: help_test.py INFOLD [--update]
With --update it writes the files instead; read the difference before you commit it.
"""

import difflib
import pathlib
import re
import subprocess
import sys

HELP = pathlib.Path(__file__).resolve().parents[1] / "help"
UPDATE = "./dev build && cli/tests/help_test.py build/release/infold --update"


def read_help(binary, words):
    """Yields (file name, text) for a subcommand and all subcommands below it."""
    text = subprocess.run(
        [binary, *words, "--help"], check=True, capture_output=True, text=True
    ).stdout
    yield "-".join(["infold", *words]) + ".txt", text
    _, _, listed = text.partition("\nSubcommands:\n")
    for name in re.findall(r"^  ([a-z][a-z-]*)", listed, re.MULTILINE):
        yield from read_help(binary, [*words, name])


def placed(name):
    """Returns the file's path below HELP. The commands of a group share a folder."""
    group = name.removesuffix(".txt").split("-")[1:-1]
    return "/".join([*group, name])


def main():
    binary, *options = sys.argv[1:]
    texts = read_help(str(pathlib.Path(binary).resolve()), [])
    actual = {placed(name): text for name, text in texts}
    if options == ["--update"]:
        for path in HELP.rglob("*.txt"):
            path.unlink()
        for name, text in actual.items():
            (HELP / name).parent.mkdir(parents=True, exist_ok=True)
            (HELP / name).write_text(text, encoding="utf-8")
        return 0

    expected = {
        p.relative_to(HELP).as_posix(): p.read_text(encoding="utf-8") for p in HELP.rglob("*.txt")
    }
    differing = sorted(n for n in expected | actual if expected.get(n) != actual.get(n))
    for name in differing:
        print(
            "".join(
                difflib.unified_diff(
                    expected.get(name, "").splitlines(True),
                    actual.get(name, "").splitlines(True),
                    f"cli/help/{name}",
                    "printed now",
                )
            )
        )
    if differing:
        print(f"If the change is intended: {UPDATE}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
