# SPDX-License-Identifier: Apache-2.0
"""The training jobs of examples/ learn the same in every way that the examples show. The cases are
small and use no lab, because the examples themselves need root and minutes."""

import contextlib
import importlib.util
import io
import json
import pathlib
import sys
from unittest import mock

import pytest
from ranks import run_ranks

_EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def _program(name):
    sys.path.insert(0, str(_EXAMPLES))
    spec = importlib.util.spec_from_file_location("program", _EXAMPLES / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _run(rank, world, name, words):
    """The output of rank 0."""
    program = _program(name)
    sys.argv = [name, *words]
    with (mock.patch.object(program.dist, "init_process_group"),  # there is one
          mock.patch.object(program.dist, "destroy_process_group"),
          contextlib.redirect_stdout(io.StringIO()) as said):
        program.main()
    return [json.loads(line) for line in said.getvalue().splitlines()]


def _losses(answers):
    assert answers[1] == []
    *steps, last = answers[0]
    assert last["world"] == 2 and last["step_s"] > 0 and last["compute_s"] > 0
    return [each["loss"] for each in steps]


def _check(name, small, ways):
    wanted = _losses(run_ranks(2, _run, name, small, backend="gloo"))
    assert len(wanted) == 3
    for words, options in ways:
        found = _losses(run_ranks(2, _run, name, [*small, *words], options=options))
        assert found == pytest.approx(wanted, rel=1e-3 if "--wire" in words else 1e-5)


def test_train():
    small = ["--steps", "3", "--width", "32"]
    _check("train.py", small, [(["--backend", "infold"], None),
                               (["--backend", "infold", "--wire", "bfp16"], None)])


def test_recommender():
    small = ["--steps", "3", "--batch", "8", "--rows", "300"]
    infold = ["--backend", "infold"]
    _check("sparse/train.py", small, [(infold, None), (infold, {"layout": "blocks"}),
                                      ([*infold, "--sparse"], None)])
