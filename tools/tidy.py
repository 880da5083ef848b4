#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what compilers do not: formatting."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    sys.exit(subprocess.run([sys.executable, str(ROOT / "tools" / "fmt.py"), "--check"],
                            check=False).returncode)
