# SPDX-License-Identifier: Apache-2.0
"""The command `infold` of the Python package: becomes the program that lies in the package. Apart
from the package, whose import may import torch, which takes seconds."""

import importlib.util
import os
import pathlib
import sys


def main():
    found = importlib.util.find_spec("infold")
    program = pathlib.Path(found.origin).parent / "bin" / "infold"
    if not program.exists():
        sys.exit("infold: this package was built without the program; `./dev build` in the "
                 "repository makes build/release/infold, and `./dev package wheel` a package with "
                 "it")
    os.execv(program, [str(program), *sys.argv[1:]])
