#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs an example of examples/, after making its needs: the Python package in an environment of its
own (build/python/venv; a few minutes the first time), and the C++ programs.

examples:
  ./dev example gloo        a training job with PyTorch's own backend; where its time goes
  ./dev example switch      the same with a switch that sums
  ./dev example cpp_api     the C++ API, without Python
  ./dev example sparse      a job whose gradients are nearly all zeros
  ./dev example compress    gradients in fewer bits, and a compressor of your own
  ./dev example whatif      would a switch help a cluster that you do not have?

./dev example NAME --help tells more.
"""

import os
import pathlib
import subprocess
import sys

import python_env

ROOT = pathlib.Path(__file__).resolve().parent.parent


def names():
    return sorted(path.parent.name for path in (ROOT / "examples").glob("*/run.py"))


def prepare():
    """Prints nothing, except the output of a step that fails."""
    print("preparing build/python/venv and the C++ programs ...", file=sys.stderr, flush=True)
    build = ["cmake", "--build", "build/release", "--target", "infold_example_cpp"]
    for command in [*python_env.install_commands(ROOT, "examples"), build]:
        done = subprocess.run(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            print(done.stdout, file=sys.stderr)
            sys.exit(f"dev: this failed: {' '.join(command)}")


def main():
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print("usage: ./dev example NAME [ARGUMENTS]\n\n" + __doc__.strip())
        return 0 if words else 2
    if words[0] not in names():
        print(f"dev: no example '{words[0]}'; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    python = sys.executable
    if not {"-h", "--help"} & set(words):
        try:
            prepare()
        except KeyboardInterrupt:
            return 130
        python = str(python_env.python_of(ROOT))
    os.execv(python, [python, str(ROOT / "examples" / words[0] / "run.py"), *words[1:]])


if __name__ == "__main__":
    sys.exit(main())
