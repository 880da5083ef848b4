#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that infold-demo has the commands that the demo needs, and says which program has the
others. demo_process_test.py checks that its demo ends with a picture.

Usage: demo_program_test.py INFOLD_DEMO
"""

import pathlib
import re
import subprocess
import sys

from mistakes import SECONDS, check, refused, run_each

HELP = pathlib.Path(__file__).resolve().parents[1] / "help"


def show_help(program, *words):
    return subprocess.run(
        [program, *words, "--help"], check=True, capture_output=True, text=True, timeout=SECONDS
    ).stdout


def helps_as_infold_does(program, _):
    """./dev demo --help shows the text of `infold demo`, so this program must print the same."""
    for command in ("demo", "switch"):
        expected = (HELP / f"infold-{command}.txt").read_text("utf-8")
        said = show_help(program, command)
        check(
            said == expected.replace(f"Usage: infold {command}", f"Usage: infold-demo {command}"),
            said,
        )


def names_its_commands_and_who_has_the_others(program, folder):
    said = show_help(program)
    _, _, rest = said.partition("\nSubcommands:\n")
    listed = re.findall(r"^  ([a-z][a-z-]*)", rest, re.MULTILINE)
    check(listed == ["demo", "switch"], said)
    check("./dev build makes infold with all commands" in said, said)
    refused(program, folder, ("sim",), 2, "no command 'sim'", "infold-demo --help")


def names_the_planes_that_it_lacks(program, folder):
    for words, plane in (
        (("--plane", "xdp", "--dev", "lo", "--listen", "127.0.0.1:7700"), "xdp"),
        (("--plane", "p4"), "p4"),
    ):
        refused(
            program,
            folder,
            ("switch", *words),
            2,
            f"--plane {plane}: this program sums in user space alone",
            "./dev build makes build/release/infold",
        )


if __name__ == "__main__":
    sys.exit(
        run_each(
            (
                helps_as_infold_does,
                names_its_commands_and_who_has_the_others,
                names_the_planes_that_it_lacks,
            )
        )
    )
