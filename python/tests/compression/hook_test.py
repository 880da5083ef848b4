# SPDX-License-Identifier: Apache-2.0
"""Compressed gradients in DistributedDataParallel: training, checkpoints, and how calls fail."""

import io
import time

import models
import pytest
import torch
import torch.distributed as dist
from failing import SOON_S, message_of
from ranks import ordered, run_ranks, running_switches
from torch.nn.parallel import DistributedDataParallel

import infold

_STEPS = 20
_CHOICES = {
    "none": ("none", {}),
    "shared": ("shared", {"memory": "residual"}),
    "topk": ("topk", {"ratio": 0.05, "memory": "residual"}),
    "scaledsign": ("scaledsign", {"memory": "ef-sign"}),
    "terngrad": ("terngrad", {}),
    "thc": ("thc", {"memory": "residual"}),
    "powersgd": ("powersgd", {"rank": 2, "memory": "residual"}),
}


def _made(choice, name="transformer", **arguments):
    """A model with buckets of 20 kB, so that there are several."""
    method, options = _CHOICES[choice]
    model = DistributedDataParallel(models.made(name, **arguments), bucket_cap_mb=0.02)
    return model, infold.compress.hook(method, **options).register(model)


def _sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def _train(rank, world, choice, name):
    model, hook = _made(choice, name)
    losses = models.train(model, _sgd(model), name, rank, _STEPS)
    counts = hook.statistics()
    assert counts["calls"] > _STEPS
    assert counts["fallbacks"] >= 0
    if choice == "none":
        assert counts["bytes_sent"] == counts["bytes_before"]
    else:
        assert counts["bytes_sent"] < counts["bytes_before"] / 2
    return losses, models.digest(model.module)


@pytest.mark.parametrize("choice", _CHOICES)
def test_training_converges_with_the_same_bits_on_every_path(choice):
    with running_switches(1) as one_switch, running_switches(0) as no_switch:
        answers = [
            run_ranks(3, _train, choice, "transformer", options=options)
            for options in (None, one_switch, no_switch)
        ]
    assert answers[0] == answers[1] == answers[2]
    assert len({digest for _, digest in answers[0]}) == 1
    assert all(losses[-1] < losses[0] / 5 for losses, _ in answers[0])


def test_a_channels_last_model_and_bfloat16():
    assert len({digest for _, digest in run_ranks(2, _other_gradients)}) == 1


def _other_gradients(rank, world):
    model = models.made("convnet").to(torch.bfloat16, memory_format=torch.channels_last)
    model = DistributedDataParallel(model, broadcast_buffers=False)
    infold.compress.hook("shared", memory="residual").register(model)
    optimizer = _sgd(model)
    for step in range(3):
        images, classes = models.batch("convnet", rank, step)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images.to(torch.bfloat16)), classes).backward()
        optimizer.step()
    parameters = torch.cat([each.detach().flatten() for each in model.parameters()])
    return rank, parameters.view(torch.int16).numpy().tobytes()


def _mean(rank, world, choice):
    """The mean that a hook makes of one gradient."""
    model = DistributedDataParallel(torch.nn.Linear(1000, 1, bias=False))
    method, options = _CHOICES[choice]
    infold.compress.hook(method, **options).register(model)
    model(torch.linspace(-1 - rank, 1, 1000)).sum().backward()
    return model.module.weight.grad.flatten().tolist()


def test_the_mean_is_that_of_all_ranks():
    wanted = sum(torch.linspace(-1 - rank, 1, 1000) for rank in range(3)) / 3
    for found in run_ranks(3, _mean, "none"):
        assert torch.tensor(found).tolist() == pytest.approx(wanted.tolist(), abs=1e-6)
    for found in run_ranks(3, _mean, "shared"):
        assert found == pytest.approx(wanted.tolist(), abs=3 * 2 / 127)


def test_a_group_of_one_rank_compresses_too():
    [found] = run_ranks(1, _mean, "topk")
    assert sum(each != 0 for each in found) == 50


def _run(rank, steps, first, saved=None, register=True):
    """Makes a model and a hook, loads what was saved before, and runs steps."""
    model = DistributedDataParallel(models.made("transformer"), bucket_cap_mb=0.02)
    hook = infold.compress.hook("topk", ratio=0.05, memory="residual", seed=3)
    hook.register(model) if register else model.register_comm_hook(None, hook)
    optimizer = _sgd(model)
    if saved:
        state = torch.load(io.BytesIO(saved), weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        hook.load_state_dict(state["compression"])
    models.train(model, optimizer, "transformer", rank, steps, first)
    file = io.BytesIO()
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "compression": hook.state_dict(),
        },
        file,
    )
    return model, hook, file.getvalue()


def _resumed(rank, world, register):
    whole, hook, _ = _run(rank, 6, 0, register=register)
    _, _, saved = _run(rank, 3, 0, register=register)
    resumed, _, _ = _run(rank, 3, 3, saved, register)
    assert models.digest(resumed) == models.digest(whole)
    names = set(hook.state_dict()["parameters"])
    if register:
        assert names == {name for name, _ in whole.module.named_parameters()}
    forgetful, _, _ = _run(rank, 3, 3, _without_compression(saved, hook), register)
    assert models.digest(forgetful) != models.digest(whole)


def _without_compression(saved, hook):
    state = torch.load(io.BytesIO(saved), weights_only=True)
    state["compression"]["parameters"] = {}
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


@pytest.mark.parametrize("register", (True, False), ids=("named", "numbered"))
def test_a_checkpoint_resumes_with_the_same_bits(register):
    run_ranks(2, _resumed, register)


def _wrong_states(rank, world):
    _, hook, saved = _run(rank, 1, 0)
    state = hook.state_dict()
    other = infold.compress.hook("topk", ratio=0.1, memory="residual")
    with pytest.raises(ValueError, match="the state is of topk ratio=0.05"):
        other.load_state_dict(state)
    for wrong in ({"rank": 1 - rank}, {"world": 4}):
        other = state | wrong
        words = f"is of rank {other['rank']} of {other['world']}, and this is rank {rank} of 2"
        with pytest.raises(ValueError, match=words):
            hook.load_state_dict(other)
    other = state | {"parameters": state["parameters"] | {"former.weight": {}}}
    with pytest.raises(ValueError, match="parameters that the model lacks: former.weight"):
        hook.load_state_dict(other)
    hook.load_state_dict(state)


def test_a_state_of_another_choice_rank_world_or_model_is_refused():
    run_ranks(2, _wrong_states)


def test_wrong_choices_are_refused_by_name():
    for wanted, method, options in (
        ('there is no method "topp"; there are: none, .*topk', "topp", {}),
        ("ratoi", "topk", {"ratoi": 0.1}),
        ("ratio", "topk", {"ratio": 2}),
        ("ratio", "topk", {"ratio": 0}),
        ("memory", "topk", {"memory": "residuel"}),
    ):
        with pytest.raises(ValueError, match=wanted):
            infold.compress.hook(method, **options)
    with pytest.raises(TypeError, match="DistributedDataParallel or for a model of fully_shard"):
        infold.compress.hook("topk").register(torch.nn.Linear(2, 2))


def _sparse(rank, world):
    model, _ = _made("shared", "recommender", sparse=True)
    text = message_of(lambda: models.train(model, _sgd(model), "recommender", rank, 1))
    assert "infold.hooks.layout" in text, text


def test_sparse_gradients_are_refused():
    run_ranks(2, _sparse)


def _no_floats(rank, world):
    hook = infold.compress.hook("shared")
    backend = infold._registration.backend_of()
    for tensor, words in (
        (torch.arange(9), "weight is of type Long; only floats can be compressed"),
        (torch.eye(3).to_sparse(), "expected Strided, got Sparse"),
    ):
        text = message_of(
            lambda tensor=tensor: backend.average_compressed(hook._compressor, ["weight"], [tensor])
        )
        assert words in text, text
    assert hook.statistics()["calls"] == 0


def test_gradients_that_are_no_plain_floats_are_refused():
    run_ranks(1, _no_floats)


def _other_choices(rank, world):
    model = DistributedDataParallel(models.made("transformer"))
    infold.compress.hook("topk", ratio=0.1 if rank == 1 else 0.2).register(model)
    text = message_of(lambda: models.train(model, _sgd(model), "transformer", rank, 1))
    assert "rank 1 has other settings than rank 0" in text, text


def test_ranks_with_other_settings_get_one_mismatch():
    run_ranks(3, _other_choices)


def _gradients():
    return ["weight"], [torch.linspace(0, 1, 1000)]


def _average(compressor):
    backend = infold._registration.backend_of()
    return backend.average_compressed(compressor, *_gradients())


def _in_order(rank, world):
    """Other collectives begin after a compressed average that was requested earlier."""
    compressor = infold.compress.hook("shared")._compressor
    for _ in range(20):
        works, tensors = [], []
        for value in range(3):
            works.append(_average(compressor))
            tensors.append(torch.full((100,), float(rank + value)))
            works.append(dist.all_reduce(tensors[-1], async_op=True))
        for work in works:
            work.wait()
        assert [each[0].item() for each in tensors] == [1 + 2 * value for value in range(3)]


def test_other_collectives_keep_their_order():
    run_ranks(2, _in_order)


def _lost(rank, world, ending):
    """Rank 1 never compresses."""
    compressor = infold.compress.hook("sidco")._compressor
    dist.all_reduce(torch.ones(1))
    if rank == 1:
        ordered(rank, 1, "begins")
        if ending == "leaves":
            return
        ordered(rank, 1, "ends")
        return
    works = [_average(compressor), dist.all_reduce(torch.ones(10), async_op=True)]
    ordered(rank, 1, "begins")
    begun = time.monotonic()
    if ending == "aborts":
        dist.group.WORLD.abort()
    for work in works:
        text = message_of(work.wait)
        assert ("rank 1" if ending == "leaves" else "infold") in text, text
    assert time.monotonic() - begun < SOON_S
    if ending == "aborts":
        ordered(rank, 1, "ends")


@pytest.mark.parametrize("ending", ("leaves", "aborts"))
def test_a_compressed_average_ends_with_its_group(ending):
    run_ranks(2, _lost, ending, timeout_s=1000)


def _short_wait(rank, world):
    import datetime

    compressor = infold.compress.hook("shared")._compressor
    dist.all_reduce(torch.ones(1))
    if rank == 1:
        ordered(rank, 1, "waited")
    work = _average(compressor)
    if rank == 0:
        text = message_of(lambda: work.wait(datetime.timedelta(milliseconds=50)))
        assert "Timed out waiting" in text and "it goes on" in text, text
        ordered(rank, 1, "waited")
    work.wait()


def test_a_wait_may_end_before_the_average():
    run_ranks(2, _short_wait)


class _Half(infold.compress.Compressor):
    def compress(self, tensor, name):
        return [tensor.half()], tensor.shape

    def decompress(self, tensors, context):
        return tensors[0].float().view(context)


class _RandomPart(infold.compress.Compressor):
    """Keeps random elements, whose number differs between ranks."""

    def __init__(self, ratio=0.1, least=1):
        assert isinstance(least, int)
        self.ratio, self.least = ratio, least

    def compress(self, tensor, name):
        flat = tensor.flatten()
        count = max(self.least, int(self.ratio * flat.numel()) - dist.get_rank())
        indices = torch.randperm(flat.numel(), generator=self.generator)[:count]
        return [indices.int(), flat[indices]], tensor.shape

    def decompress(self, tensors, context):
        indices, values = tensors
        return torch.zeros(context.numel()).scatter_(0, indices.long(), values)


def _own_method(rank, world, memory):
    infold.compress.add("half", _Half)
    infold.compress.add("random part", _RandomPart)
    model = DistributedDataParallel(models.made("transformer"), bucket_cap_mb=0.02)
    before = torch.get_rng_state()
    method = (
        infold.compress.hook("random part", ratio=0.3, memory="residual")
        if memory
        else (infold.compress.hook("half"))
    )
    method.register(model)
    losses = models.train(model, _sgd(model), "transformer", rank, _STEPS)
    assert torch.equal(torch.get_rng_state(), before)
    assert losses[-1] < losses[0] / (2 if memory else 5)
    return losses, models.digest(model.module)


@pytest.mark.parametrize("memory", (False, True), ids=("no memory", "residual"))
def test_a_method_in_python_trains_and_repeats(memory):
    first = run_ranks(3, _own_method, memory)
    assert first == run_ranks(3, _own_method, memory)
    assert len({digest for _, digest in first}) == 1


class _Broken(infold.compress.Compressor):
    where = "compress"

    def compress(self, tensor, name):
        if self.where == "compress" and dist.get_rank() == 1:
            raise ValueError("no codes today")
        return [tensor if self.where != "type" else tensor.to(torch.complex64)], tensor.shape

    def decompress(self, tensors, context):
        if self.where == "decompress":
            raise KeyError("no tensors today")
        return tensors[0][:1] if self.where == "size" else tensors[0]


def _own_method_fails(rank, world, where, words):
    _Broken.where = where
    infold.compress.add("broken", _Broken)
    compressor = infold.compress.hook("broken")._compressor
    begun = time.monotonic()
    text = message_of(_average(compressor).wait)
    is_other = where == "compress" and rank == 0
    assert ("rank 1 left" if is_other else words) in text, text
    text = message_of(lambda: dist.all_reduce(torch.ones(1)))
    assert "infold" in text, text
    assert time.monotonic() - begun < SOON_S


@pytest.mark.parametrize(
    "where, words",
    (
        ("compress", "no codes today"),
        ("decompress", "no tensors today"),
        ("size", "1 elements for a gradient of 1000"),
        ("type", "ComplexFloat"),
    ),
)
def test_errors_of_a_method_in_python_end_the_group_in_words(where, words):
    run_ranks(2, _own_method_fails, where, words, timeout_s=1000)


def test_methods_in_python_are_checked_when_they_are_added():
    infold.compress.add("once", _Half)
    with pytest.raises(ValueError, match="there is a method once"):
        infold.compress.add("once", _Half)
    with pytest.raises(ValueError, match="bias is 'small'; allowed: none"):
        infold.compress.add("twice", _Half, bias="small")
    with pytest.raises(TypeError, match="the argument ratio needs a number"):
        infold.compress.add("twice", lambda ratio: None)
    infold.compress.add("erring", _Half, bias="unknown")
    with pytest.raises(ValueError, match="residual"):
        infold.compress.hook("erring", memory="residual")
