# SPDX-License-Identifier: Apache-2.0
"""Runs ruff on all Python. It finds bugs and decides how code looks; pyproject.toml has its
settings.

Debian 12 has no ruff, so the release of tools/requirements.txt is installed from PyPI into build/.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tools" / "requirements.txt"
VENV = ROOT / "build" / "lint"


def ruff():
    """Returns the path of ruff, which the first call installs."""
    program, stamp = VENV / "bin" / "ruff", VENV / "installed.txt"
    wanted = REQUIREMENTS.read_text("utf-8")
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return program
    pip = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet"]
    for command in (
        [sys.executable, "-m", "venv", VENV],
        [*pip, "--disable-pip-version-check", "--requirement", REQUIREMENTS],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"dev: installing ruff failed:\n{done.stdout}{done.stderr}")
    stamp.write_text(wanted, "utf-8")
    return program


def run_ruff(*words):
    """Runs ruff, and returns what it prints about files that are not as they should be."""
    done = subprocess.run([ruff(), *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"dev: ruff failed:\n{done.stderr}")
    return done.stdout


def findings():
    """Returns a line for each finding: its place, the rule, and what is wrong."""
    return run_ruff("check", "--quiet", "--output-format", "concise").splitlines()


def unformatted():
    return sorted(set(re.findall(r"^ *--> (.+?):\d+:\d+$", run_ruff("format", "--check"), re.M)))


def format_all():
    run_ruff("format", "--quiet")
