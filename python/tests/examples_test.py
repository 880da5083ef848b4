# SPDX-License-Identifier: Apache-2.0
"""The training jobs of examples/ learn the same in every way that the examples show. The cases are
small and do not use a lab, because the examples themselves need root and take minutes."""

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
    """Runs the example, and returns the output of rank 0."""
    program = _program(name)
    sys.argv = [name, *words]
    with (
        mock.patch.object(program.dist, "init_process_group"),  # a group already exists
        mock.patch.object(program.dist, "destroy_process_group"),
        contextlib.redirect_stdout(io.StringIO()) as said,
    ):
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
        assert found == pytest.approx(wanted, rel=1e-3 if "--format" in words else 1e-5)


def test_train():
    small = ["--steps", "3", "--width", "32"]
    _check(
        "train.py",
        small,
        [(["--backend", "infold"], None), (["--backend", "infold", "--format", "bfp16"], None)],
    )


def test_recommender():
    small = ["--steps", "3", "--batch", "8", "--rows", "300"]
    infold = ["--backend", "infold"]
    _check(
        "sparse/train.py",
        small,
        [(infold, None), (infold, {"layout": "blocks"}), ([*infold, "--sparse"], None)],
    )


def test_a_race_of_ways_to_compress():
    words = [
        "--steps",
        "10",
        "--width",
        "64",
        "--goal",
        "0.99",
        "--ways",
        "f32,bfp16,topk,mine",
        "--mine",
        str(_EXAMPLES / "compress" / "mine.py"),
    ]
    answers = run_ranks(2, _run, "compress/train.py", words)
    assert answers[1] == []
    accuracies = {}
    for test in answers[0]:
        accuracies.setdefault(test["way"], []).append(test["accuracy"])
    assert list(accuracies) == ["f32", "bfp16", "topk", "mine"]
    for found in accuracies.values():
        assert len(found) == 3 and found[0] == accuracies["f32"][0] < found[-1]
    assert accuracies["bfp16"] == pytest.approx(accuracies["f32"], abs=0.02)


@pytest.fixture(name="own")
def own_compressors():
    return _program("compress/own.py")


def test_the_compressor_that_learners_begin_with(own):
    module = own.load(_EXAMPLES / "compress" / "mine.py")
    bits, error = own.examine(module)
    assert bits == pytest.approx(1, abs=0.01)
    assert 0.3 < error < 0.4  # for signs of normal numbers, the best is 1 - 2 / pi


@pytest.mark.parametrize(
    "compress, decompress, words",
    (
        ("missing(tensor)", "0", "(?s)compress.. fails for .*NameError"),
        ("tensor, None", "0", "must return a list of tensors"),
        ("[tensor, 1], None", "0", "must return a list of tensors"),
        ("tensor", "0", "must return a list of tensors"),
        ("[torch.rand(3)], None", "0", "when a step is made again"),
        ("[torch.rand(self.tries())], None", "0", "when a step is made again"),
        ("[tensor], None", "missing(tensors)", "(?s)decompress.. fails for .*NameError"),
        ("[tensor], None", "None", "returns NoneType"),
        ("[tensor], None", "tensors[0].flatten()", "of shape"),
        ("[tensor], None", "tensors[0] / 0", "not finite"),
    ),
)
def test_compressors_that_cannot_race_are_refused(own, tmp_path, compress, decompress, words):
    path = tmp_path / "mine.py"
    path.write_text(
        "import torch\n\nMEMORY, BIAS = 'residual', 'contractive'\n\n\nclass Mine:\n"
        f"    def compress(self, tensor, name):\n        return {compress}\n\n"
        f"    def decompress(self, tensors, context):\n        return {decompress}\n\n"
        "    def tries(self):\n        self.count = getattr(self, 'count', 0) + 1\n"
        "        return self.count\n",
        encoding="utf-8",
    )
    with pytest.raises(own.Refused, match=words):
        own.examine(own.load(path))


def test_files_that_are_no_compressor_are_refused(own, tmp_path):
    with pytest.raises(own.Refused, match="there is no file"):
        own.load(tmp_path / "none.py")
    path = tmp_path / "mine.py"
    path.write_text("1 +", encoding="utf-8")
    with pytest.raises(own.Refused, match="(?s)does not load.*SyntaxError"):
        own.load(path)
    path.write_text("MEMORY = 'none'", encoding="utf-8")
    with pytest.raises(own.Refused, match="has no Mine"):
        own.load(path)
