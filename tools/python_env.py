# SPDX-License-Identifier: Apache-2.0
"""The virtual environment in build/ in which tests and examples use the Python package."""

import sys

REQUIREMENTS = {"tests": "python/tests/requirements.txt", "examples": "examples/requirements.txt"}


def python_of(root):
    return root / "build" / "python" / "venv" / "bin" / "python"


def install_commands(root, purpose):
    """What makes the environment, or brings it up to date; to be run in `root`, in this order."""
    python = python_of(root)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    make = [] if python.exists() else [[sys.executable, "-m", "venv", str(python.parent.parent)]]
    return make + [
        [*pip, "--requirement", REQUIREMENTS[purpose]],
        [*pip, "--no-deps", "--no-build-isolation",
         "--config-settings=cmake.define.INFOLD_WERROR=ON", "."],
    ]
