# SPDX-License-Identifier: Apache-2.0
"""The source: the last commit as an archive."""

from packing import deb


def make(root, out, run):
    """The archive's path."""
    name = f"infold-{deb.version(root)}"
    path = out / f"{name}.tar.gz"
    run(["git", "archive", f"--prefix={name}/", "--output", path, "HEAD"], cwd=root)
    return path
