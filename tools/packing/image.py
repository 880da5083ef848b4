# SPDX-License-Identifier: Apache-2.0
"""The container of the switch: packaging/Containerfile around the .deb, by podman or docker."""

import shutil

from packing import deb

NAME = "infold-switch"


def make(root, out, run):
    engine = shutil.which("podman") or shutil.which("docker")
    path = deb.make(root, out, run)
    if engine is None:
        raise RuntimeError("package: neither podman nor docker is installed; the image is "
                           "packaging/Containerfile around " + str(path.relative_to(root)))
    print(f"package: building the image with {engine}", flush=True)
    run([engine, "build", "--tag", f"{NAME}:{deb.version(root)}", "--tag", NAME,
         "--file", root / "packaging" / "Containerfile", out])
    print(f"package: image {NAME}:{deb.version(root)}")
