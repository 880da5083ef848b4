# SPDX-License-Identifier: Apache-2.0
"""Makes the source package: the last commit as an archive."""

from packing import deb


def make(root, out, run):
    """Makes the archive, and returns its path."""
    name = f"infold-{deb.version(root)}"
    path = out / f"{name}.tar.gz"
    run(["git", "archive", f"--prefix={name}/", "--output", path, "HEAD"], cwd=root)
    return path
