# SPDX-License-Identifier: Apache-2.0
"""Copies of models with hooks: copy.deepcopy(), AveragedModel and torch.save()."""

import copy
import io

import models
import pytest
import torch
from ranks import run_ranks
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel

import infold


def _saved(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


_COPIES = {
    "deepcopy": copy.deepcopy,
    "AveragedModel": lambda model: AveragedModel(model).module,
    "torch.save": _saved,
}


def _is_small(parameter):
    return parameter.dim() < 2


def _made():
    return DistributedDataParallel(models.made("transformer"), bucket_cap_mb=0.02)


def _sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def _hook_of(model):
    [(hook, _)] = model._comm_hooks
    return hook


def _compressed(rank, world, copied):
    """A copy goes on with the bits of the original, because it has what the original remembers."""
    model = _made()
    hook = infold.compress.hook(
        "topk", ratio=0.05, memory="residual", memory_settings={"decay": 0.9}, seed=3
    )
    hook.register(model, torch.distributed.group.WORLD)
    fresh = _COPIES[copied](model)
    assert _hook_of(fresh).choice == hook.choice
    models.train(model, _sgd(model), "transformer", rank, 3)
    twin = _COPIES[copied](model)
    hook_of_twin = _hook_of(twin)
    assert hook_of_twin is not hook and hook_of_twin.choice == hook.choice
    hook_of_twin.register(twin)
    for each in (model, twin):
        models.train(each, _sgd(each), "transformer", rank, 3, 3)
    assert models.digest(twin.module) == models.digest(model.module)
    ours, theirs = (each.state_dict()["parameters"] for each in (hook, hook_of_twin))
    assert ours.keys() == theirs.keys()
    for name, kept in ours.items():
        for what, values in kept.items():
            assert torch.equal(values, theirs[name][what]), (name, what)


@pytest.mark.parametrize("copied", _COPIES)
def test_a_copy_of_a_model_has_its_hook_and_what_the_hook_remembers(copied):
    run_ranks(2, _compressed, copied)


def _with_rate(rank, world):
    model = _made()
    hook = infold.compress.hook("scaledsign", memory="ef-sign").register(model)
    hook.set_rate(0.25)
    models.train(model, _sgd(model), "transformer", rank, 2)
    twin = _saved(model)
    _hook_of(twin).register(twin)
    for each in (model, twin):
        models.train(each, _sgd(each), "transformer", rank, 2, 2)
    assert models.digest(twin.module) == models.digest(model.module)


def test_a_copy_has_the_learning_rate():
    run_ranks(2, _with_rate)


def _wired(rank, world, copied):
    for hook in (
        infold.hooks.wire("bfp8", exact=_is_small),
        infold.hooks.layout("automatic", wire=infold.hooks.wire("bfp16", exact=_is_small)),
    ):
        model = _made()
        model.register_comm_hook(None, hook)
        models.train(model, _sgd(model), "transformer", rank, 2)
        twin = _COPIES[copied](model)
        hook_of_twin = _hook_of(twin)
        assert type(hook_of_twin) is type(hook)
        wire = getattr(hook_of_twin, "wire", None) or hook_of_twin
        assert (wire.format, wire.exact) == (
            ("bfp8" if wire is hook_of_twin else "bfp16"),
            _is_small,
        )
        twin.register_comm_hook(None, hook_of_twin)
        for each in (model, twin):
            models.train(each, _sgd(each), "transformer", rank, 2, 2)
        assert models.digest(twin.module) == models.digest(model.module)


@pytest.mark.parametrize("copied", _COPIES)
def test_a_copy_of_a_model_has_its_wire_format(copied):
    run_ranks(2, _wired, copied)
