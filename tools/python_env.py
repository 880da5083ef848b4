# SPDX-License-Identifier: Apache-2.0
"""The virtual environments in which tests and examples use the Python package. One is in build/,
for the torch of the requirements. Others have other releases of torch, and a person names them."""

import os
import pathlib
import subprocess
import sys

REQUIREMENTS = {"tests": "python/tests/requirements.txt", "examples": "examples/requirements.txt"}


def python_of(root):
    return root / "build" / "python" / "venv" / "bin" / "python"


def python_with(torch):
    """The Python of the environment that a variable, such as INFOLD_TORCH_2_14, names. Without one,
    the reason."""
    variable = "INFOLD_TORCH_" + torch.replace(".", "_")
    folder = os.environ.get(variable, "")
    if not folder:
        return None, (f"torch {torch} is not installed: name in {variable} a virtual environment "
                      f"that has it, and the other packages of {REQUIREMENTS['tests']}")
    python = pathlib.Path(folder) / "bin" / "python"
    if not python.exists() or not _torch_of(python).startswith(torch + "."):
        return None, f"{variable} names {folder}, which has no torch {torch}"
    return python, ""


def _torch_of(python):
    return subprocess.run([python, "-c", "import torch; print(torch.__version__)"],
                          capture_output=True, text=True, check=False).stdout


def install_commands(root, purpose, other=None):
    """The commands that make the environment, or bring it up to date; run them in `root`, in this
    order. In another environment, whose Python is given, they install only the package itself."""
    python = other or python_of(root)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if other:
        # Objects belong to one torch, so each environment has a build folder.
        folder = f"--config-settings=build-dir=build/wheel-{python.parent.parent.name}"
        return [[*pip, "--no-deps", "--no-build-isolation", folder,
                 "--config-settings=cmake.define.INFOLD_WERROR=ON", "."]]
    make = [] if python.exists() else [[sys.executable, "-m", "venv", str(python.parent.parent)]]
    return make + [
        [*pip, "--requirement", REQUIREMENTS[purpose]],
        [*pip, "--no-deps", "--no-build-isolation",
         "--config-settings=cmake.define.INFOLD_WERROR=ON", "."],
    ]
