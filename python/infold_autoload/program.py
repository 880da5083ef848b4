# SPDX-License-Identifier: Apache-2.0
"""The command `infold` of the Python package, which runs the program inside the package. It is
separate from the package, because importing the package may import torch, which takes seconds."""

import importlib.util
import os
import pathlib
import sys


def main():
    found = importlib.util.find_spec("infold")
    program = pathlib.Path(found.origin).parent / "bin" / "infold"
    if not program.exists():
        sys.exit(
            "infold: this package was built without the program; in the repository, "
            "`./dev build` makes build/release/infold, and `./dev package wheel` makes a "
            "package with the program"
        )
    os.execv(program, [str(program), *sys.argv[1:]])
