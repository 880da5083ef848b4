# SPDX-License-Identifier: Apache-2.0
"""What the tests of commands that measure in a lab share. A test that cannot have a lab ends with
the status SKIPPED."""

import pathlib

SKIPPED = 77
SECONDS = 120
# Parts of the errors that report that a lab is impossible, or not possible now.
NO_LAB = ("the kernel refuses", "is missing: apt-get", "another measurement runs")


def namespaces():
    folder = pathlib.Path("/run/netns")
    return (
        [p.name for p in folder.iterdir() if p.name.startswith("infold-bench-")]
        if folder.is_dir()
        else []
    )
