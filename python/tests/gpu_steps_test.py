# SPDX-License-Identifier: Apache-2.0
"""The steps of tools/gpu/prove that train and measure, on a small scale and on the CPU, so that
they work when a GPU is available."""

import json
import pathlib
import subprocess
import sys

import pytest
import ranks

STEPS = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gpu" / "prove" / "proving"
WAYS = {"gloo", "infold, memory", "infold, switch"}


def _figures(script):
    done = subprocess.run(
        [sys.executable, STEPS / script, "--device", "cpu", "--small"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=10 * ranks.PATIENCE_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_trainings():
    figures = _figures("trainings.py")
    for what in ("steps", "losses"):
        assert {
            (each["model"], each["ranks"], each["way"]) for each in figures if each["what"] == what
        } == {
            (model, size, way)
            for model in ("convnet", "transformer")
            for size in (2, 4)
            for way in WAYS
        }
    for each in figures:
        if each["what"] == "steps":
            assert 0 < each["host_in_backward_ms"] <= each["step_ms"]
            continue
        assert each["ranks_equal"]
        # infold's sums are exact sums, rounded once, on every path.
        if each["way"] != "gloo":
            assert float(each["largest_difference_to_the_cpu"]) == 0


def test_parts():
    figures = _figures("parts.py")
    assert [each["what"] for each in figures] == 2 * ["copies", *3 * ["all_reduce"]]
    for each in figures:
        times = [value for name, value in each.items() if name.endswith("_ms")]
        assert len(times) >= 3 and min(times) >= 0


@pytest.mark.parametrize("script", ["trainings.py", "parts.py"])
def test_without_a_gpu_the_steps_say_so(script):
    import torch

    if torch.cuda.is_available():
        pytest.skip("here is a GPU")
    done = subprocess.run(
        [sys.executable, STEPS / script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=ranks.PATIENCE_S,
    )
    assert done.returncode != 0
    assert "no GPU here" in done.stderr
