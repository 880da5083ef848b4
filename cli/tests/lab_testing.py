# SPDX-License-Identifier: Apache-2.0
"""What tests of commands that measure in a lab have in common. One that cannot have a lab ends with
the status SKIPPED."""

import pathlib
import sys

SKIPPED = 77
SECONDS = 120
# Prints of an error that there can be no lab, or not now.
NO_LAB = ("the kernel refuses", "is missing: apt-get", "another measurement runs")


def namespaces():
    folder = pathlib.Path("/run/netns")
    return [p.name for p in folder.iterdir() if p.name.startswith("infold-bench-")] \
        if folder.is_dir() else []


def check(condition, text):
    if not condition:
        sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {text}")
