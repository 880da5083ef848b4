# SPDX-License-Identifier: Apache-2.0
"""Compiles the PyTorch backend against this machine's torch, into the package of the folder, and
then runs the package's own doctor."""

import json
import os
import subprocess
import sys
import time

from steps import FOLDER

SITE = FOLDER / "site"
BUILD = FOLDER / "work" / "backend"
PROCESSORS = len(os.sched_getaffinity(0))
# With fewer processors it is faster to compile several files as one, because reading torch's
# headers takes nine tenths of the time.
PROCESSORS_FOR_FILES_ALONE = 8


def run(*words):
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL)


def compile_backend():
    """Returns the seconds that it took. After an earlier run, only changed files are compiled."""
    begun = time.monotonic()
    run(
        "cmake",
        "-GNinja",
        "-S",
        FOLDER,
        "-B",
        BUILD,
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DINFOLD_UNITY={'OFF' if PROCESSORS > PROCESSORS_FOR_FILES_ALONE else 'ON'}",
    )
    run("cmake", "--build", BUILD, "--parallel", PROCESSORS)
    run("cmake", "--install", BUILD, "--prefix", SITE)
    return round(time.monotonic() - begun, 1)


def main():
    took_s = compile_backend()
    (extension,) = (SITE / "infold").glob("torch_*/_c*.so")
    print(
        json.dumps(
            {
                "what": "compiled",
                "seconds": took_s,
                "processors": PROCESSORS,
                "extension": str(extension.relative_to(SITE)),
                "bytes": extension.stat().st_size,
            }
        ),
        flush=True,
    )
    environment = os.environ | {"PYTHONPATH": str(SITE)}
    subprocess.run(
        [sys.executable, "-m", "infold.doctor"],
        check=True,
        stdin=subprocess.DEVNULL,
        env=environment,
    )


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error.cmd[0]} ended with status {error.returncode}")
