# SPDX-License-Identifier: Apache-2.0
"""Training through a switch in the kernel, if this machine allows one."""

import os
import pathlib
import subprocess
import sys

import pytest

_SKIPPED = 77
_PATIENCE_S = 300


@pytest.mark.parametrize("case", ["convnet", "transformer", "losses_change_no_bit"])
def test_training_has_the_same_bits_through_the_kernel(case):
    program = pathlib.Path(__file__).with_name("xdp_training.py")
    result = subprocess.run(
        [sys.executable, program, os.environ["INFOLD_BINARY"], case],
        check=False,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
    )
    if result.returncode == _SKIPPED:
        pytest.skip(result.stdout.strip())
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{case}: passed" in result.stdout
