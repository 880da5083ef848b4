# SPDX-License-Identifier: Apache-2.0
"""The virtual environments in which tests and examples use the Python package. The one in build/
has the torch of the requirements. Others, which a person names, have other releases of torch."""

import os
import pathlib
import subprocess
import sys

REQUIREMENTS = {"tests": "python/tests/requirements.txt", "examples": "examples/requirements.txt"}


def python_of(root):
    return root / "build" / "python" / "venv" / "bin" / "python"


def python_with(torch):
    """Returns the Python of the environment that a variable such as INFOLD_TORCH_2_14 names, and an
    empty text. Without such an environment, returns None and the reason."""
    variable = "INFOLD_TORCH_" + torch.replace(".", "_")
    folder = os.environ.get(variable, "")
    if not folder:
        return None, (
            f"torch {torch} is not installed: name in {variable} a virtual environment "
            f"that has it, and the other packages of {REQUIREMENTS['tests']}"
        )
    python = pathlib.Path(folder) / "bin" / "python"
    if not python.exists() or not _torch_of(python).startswith(torch + "."):
        return None, f"{variable} names {folder}, which has no torch {torch}"
    return python, ""


def _torch_of(python):
    return subprocess.run(
        [python, "-c", "import torch; print(torch.__version__)"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def install_commands(root, purpose, other=None):
    """Returns the commands that make the environment, or bring it up to date. Run them in `root`,
    in this order. In another environment, whose Python is given, they install only the package
    itself."""
    python = other or python_of(root)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if other:
        # Objects fit only one torch, so each environment has its own build folder.
        folder = f"--config-settings=build-dir=build/wheel-{python.parent.parent.name}"
        return [
            [
                *pip,
                "--no-deps",
                "--no-build-isolation",
                folder,
                "--config-settings=cmake.define.INFOLD_WERROR=ON",
                ".",
            ]
        ]
    make = [] if python.exists() else [[sys.executable, "-m", "venv", str(python.parent.parent)]]
    return make + [
        [*pip, "--requirement", REQUIREMENTS[purpose]],
        [
            *pip,
            "--no-deps",
            "--no-build-isolation",
            "--config-settings=cmake.define.INFOLD_WERROR=ON",
            ".",
        ],
    ]
