# SPDX-License-Identifier: Apache-2.0
"""Makes the switch's container from packaging/Containerfile and the .deb, with podman or docker."""

import re
import shutil

from packing import deb

NAME = "infold-switch"


def instructions(root):
    """Returns the Containerfile as (word, rest of the line) pairs."""
    text = (root / "packaging" / "Containerfile").read_text("utf-8")
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line and not line.startswith("#")]


def make(root, out, run):
    """Makes the image, and returns the path of the .deb in it."""
    engine = shutil.which("podman") or shutil.which("docker")
    path = deb.make(root, out, run)
    if engine is None:
        raise RuntimeError(
            "neither podman nor docker is installed; the image is "
            f"packaging/Containerfile around {path.relative_to(root)}"
        )
    print(f"package: building the image with {engine}", flush=True)
    run(
        [
            engine,
            "build",
            "--tag",
            f"{NAME}:{deb.version(root)}",
            "--tag",
            NAME,
            "--file",
            root / "packaging" / "Containerfile",
            out,
        ]
    )
    print(f"package: image {NAME}:{deb.version(root)}")
    return path
