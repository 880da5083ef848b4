# SPDX-License-Identifier: Apache-2.0
"""What a hook refuses at once: states that are cut off or of another form, settings of another
type, and groups of another backend."""

import typing

import models
import pytest
import torch
import torch.distributed as dist
from ranks import run_ranks
from torch.nn.parallel import DistributedDataParallel

import infold


class _Half(infold.compress.Compressor):
    def compress(self, tensor, name):
        return [tensor.half()], tensor.shape

    def decompress(self, tensors, context):
        return tensors[0].float().view(context)


class _Sum(infold.compress.Memory):
    def __init__(self):
        self.sum = 0

    def compensate(self, tensor, name):
        return tensor

    def update(self, tensor, name, compressor, tensor_compressed, ctx):
        self.sum = self.sum + tensor


def _trained(rank, hook):
    model = DistributedDataParallel(models.made("transformer"), bucket_cap_mb=0.02)
    hook.register(model)
    models.train(model, torch.optim.SGD(model.parameters(), lr=0.1), "transformer", rank, 2)
    return model


def _changed(state, change):
    """A copy in which one parameter's dict has been changed."""
    parameters = {name: dict(kept) for name, kept in state["parameters"].items()}
    change(parameters[min(parameters)])
    return state | {"parameters": parameters}


def _cut(what, length):
    def change(kept):
        kept[what] = kept[what][:length]

    return change


def _cut_off(rank, world):
    infold.compress.add("half that sums", _Half, memory=_Sum)
    hook = infold.compress.hook("topk", ratio=0.05, memory="residual")
    model = _trained(rank, hook)
    own = infold.compress.hook("half that sums")
    _trained(rank, own)
    state = hook.state_dict()
    for change, words in (
        (_cut("residual", 3), "residual of .* has 3 elements, the model's"),
        (_cut("step", 1), "step of .* has 1 elements, the model's 2"),
        (lambda kept: kept.pop("residual"), "the state has no residual of"),
        (dict.clear, "the state has no step of"),
        (lambda kept: kept.update(residual=[1, 2]), "residual of .* is <class 'list'>"),
    ):
        with pytest.raises(ValueError, match=words):
            hook.load_state_dict(_changed(state, change))
        # Nothing has changed.
        assert hook.state_dict()["parameters"].keys() == state["parameters"].keys()
    of_own = own.state_dict()
    for length in (1, 5):  # at 0, nothing is remembered, as before the first step
        with pytest.raises(ValueError, match="own memory of .* is cut off or changed"):
            own.load_state_dict(_changed(of_own, _cut("own memory", length)))
    own.load_state_dict(of_own)
    hook.load_state_dict(state)
    models.train(model, torch.optim.SGD(model.parameters(), lr=0.1), "transformer", rank, 1, 2)


def test_a_state_that_is_cut_off_is_refused_when_it_is_loaded():
    run_ranks(2, _cut_off)


@pytest.mark.parametrize(
    "change, words",
    (
        (lambda state: None, "it is <class 'NoneType'>"),
        (lambda state: {}, "it lacks 'choice'"),
        (lambda state: {"model": {}}, "it lacks 'choice'"),
        (lambda state: {k: v for k, v in state.items() if k != "parameters"}, "lacks 'parameters'"),
        (lambda state: state | {"rank": "0"}, "'rank' is <class 'str'>"),
        (lambda state: state | {"parameters": 3}, "'parameters' is <class 'int'>"),
        (lambda state: state | {"parameters": {"weight": 3}}, "all of weight is <class 'int'>"),
        (lambda state: state | {"steering": 3}, "'steering' is <class 'int'>"),
    ),
)
def test_what_is_no_state_is_refused_in_words(change, words):
    hook = infold.compress.hook("topk")
    with pytest.raises(ValueError, match=f"this is not a state of a compression hook: .*{words}"):
        hook.load_state_dict(change(hook.state_dict()))


def test_settings_of_another_type_are_refused_by_name():
    for words, method, options in (
        ("topk: ratio is '0.1'; allowed: a number", "topk", {"ratio": "0.1"}),
        ("topk: ratio is None; allowed: a number", "topk", {"ratio": None}),
        (
            "memory residual: decay is 'x'",
            "topk",
            {"memory": "residual", "memory_settings": {"decay": "x"}},
        ),
        ("memory is 3; allowed: a name", "topk", {"memory": 3}),
        ("memory_settings is 3; allowed: a dict", "topk", {"memory_settings": 3}),
        ("method is 3; allowed: a name", 3, {}),
        ("seed is '1'; allowed: a whole number", "topk", {"seed": "1"}),
        ("steering is 'ratio'; allowed: a dict", "topk", {"steering": "ratio"}),
    ):
        with pytest.raises(TypeError, match=words):
            infold.compress.hook(method, **options)
    with pytest.raises(TypeError, match="topk: ratio is '0.1'; allowed: a number"):
        infold.compress.measure("topk", ratio="0.1")
    infold.compress.hook("topk", seed=torch.tensor(3))
    assert "ratio=0.5" in infold.compress.hook("topk", ratio=torch.tensor(0.5)).choice


def test_type_checkers_see_the_types_of_a_hooks_arguments():
    found = typing.get_type_hints(infold.compress.hook.__init__)
    assert (found["method"], found["memory"], found["seed"]) == (str, str, int)
    assert found["settings"] is float
    assert typing.get_type_hints(infold.compress.measure)["settings"] is float
    assert typing.get_type_hints(infold.hooks.wire.__init__)["format"] is str


def _at_gloo(rank, world):
    model = DistributedDataParallel(torch.nn.Linear(3, 3))
    with pytest.raises(RuntimeError, match="this group's backend is gloo, not infold"):
        infold.compress.hook("topk").register(model)
    model(torch.ones(3)).sum().backward()  # The step is that of a model without a hook.
    assert dist.get_backend() == "gloo"


def test_a_hook_refuses_another_backends_group_when_it_is_registered():
    run_ranks(2, _at_gloo, backend="gloo")
