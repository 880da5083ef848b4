# SPDX-License-Identifier: Apache-2.0
"""Compression methods in numpy or with their own memories, as GRACE's users write them."""

import models
import numpy as np
import pytest
import torch
import torch.distributed as dist
from failing import message_of
from ranks import run_ranks
from torch.nn.parallel import DistributedDataParallel

import infold

_STEPS = 10


class _Largest(infold.compress.Compressor):
    """Its constructor has the form of GRACE's."""

    def __init__(self, ratio=0.3):
        super().__init__(tensors_size_are_same=False)
        self.ratio = ratio

    def compress(self, tensor, name):
        flat = tensor.flatten()
        indices = flat.abs().topk(max(1, int(self.ratio * flat.numel()))).indices
        return [indices, flat[indices]], tensor.shape

    def decompress(self, tensors, context):
        indices, values = tensors
        return torch.zeros(context.numel()).index_put_((indices,), values).view(context)


class _LargestInNumpy(infold.compress.NumpyCompressor):
    def __init__(self, ratio=0.3):
        super().__init__()
        self.ratio = ratio

    def compress(self, array, name):
        flat = array.ravel()
        count = max(1, int(self.ratio * flat.size))
        indices = torch.from_numpy(flat).abs().topk(count).indices.numpy()
        return [indices.astype(np.uint32), flat[indices]], array.shape

    def decompress(self, arrays, context):
        dense = np.zeros(int(np.prod(context)), np.float32)
        dense[arrays[0]] = arrays[1]
        return dense.reshape(context)


class _Random(infold.compress.NumpyCompressor):
    """Rounds at random. Its codes have a type and byte order unknown to torch, or are scalars."""

    def compress(self, array, name):
        scale = np.float32(np.abs(array).max() / 1000)
        levels = np.floor(array / max(scale, 1e-30) + self.generator.random(array.shape))
        return [levels.astype(np.int16)[..., ::-1], scale], None

    def decompress(self, arrays, context):
        levels, scale = arrays
        assert levels.dtype == np.int16 and scale.shape == ()
        return levels[..., ::-1] * np.float64(scale)


class _Residual(infold.compress.Memory):
    """A memory in the form of GRACE's."""

    def __init__(self, beta=1.0):
        self.residuals = {}
        self.beta = beta

    def compensate(self, tensor, name):
        if name in self.residuals:
            tensor = self.beta * self.residuals[name] + tensor
        return tensor

    def update(self, tensor, name, compressor, tensor_compressed, ctx):
        sent = compressor.decompress(tensor_compressed, ctx)
        self.residuals[name] = tensor - sent


def _add_all():
    infold.compress.add("largest", _Largest)
    infold.compress.add("largest in numpy", _LargestInNumpy)
    infold.compress.add("random", _Random, bias="unbiased")
    infold.compress.add("largest and residual", _Largest, memory=_Residual)


def _made(method, memory="none"):
    model = DistributedDataParallel(models.made("transformer"), bucket_cap_mb=0.02)
    return model, infold.compress.hook(method, memory=memory, seed=2).register(model)


def _train(rank, world, method, memory):
    _add_all()
    model, _ = _made(method, memory)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = models.train(model, optimizer, "transformer", rank, _STEPS)
    assert losses[-1] < losses[0] / 2
    return losses, models.digest(model.module)


def test_numpy_and_memories_of_ones_own_give_the_same_bits():
    wanted = run_ranks(3, _train, "largest", "residual")
    assert len({digest for _, digest in wanted}) == 1
    assert run_ranks(3, _train, "largest in numpy", "residual") == wanted
    assert run_ranks(3, _train, "largest and residual", "none") == wanted
    assert run_ranks(3, _train, "largest", "none") != wanted


def test_numpys_random_numbers_repeat():
    first = run_ranks(2, _train, "random", "none")
    assert run_ranks(2, _train, "random", "none") == first


def _resumed(rank, world):
    _add_all()

    def run(steps, first, saved=None):
        model, hook = _made("largest and residual")
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        if saved:
            model.load_state_dict(saved[0])
            hook.load_state_dict(saved[1])
        models.train(model, optimizer, "transformer", rank, steps, first)
        return models.digest(model), (model.state_dict(), hook.state_dict())

    whole, _ = run(5, 0)
    _, saved = run(2, 0)
    assert run(3, 2, saved)[0] == whole
    saved[1]["parameters"] = {}
    assert run(3, 2, saved)[0] != whole


def test_a_memory_of_ones_own_is_in_checkpoints():
    run_ranks(2, _resumed)


def _average(compressor, group, step):
    random = torch.Generator().manual_seed(10 * step + dist.get_rank())
    gradient = torch.randn(100, generator=random)
    infold._registration.backend_of(group).average_compressed(
        compressor, ["weight"], [gradient]
    ).wait()
    return gradient


class _Failing(_Largest):
    """Fails at one rank before its codes travel, or at all ranks after they have arrived."""

    where = ""

    def compress(self, tensor, name):
        if self.where == "compress" and dist.get_rank() == 1:
            raise ValueError("no codes today")
        return super().compress(tensor, name)

    def decompress(self, tensors, context):
        if self.where == "decompress":
            raise ValueError("no tensors today")
        return super().decompress(tensors, context)


class _Counting(_Residual):
    """Also forgets, so that the result depends on the number of its steps."""

    def __init__(self):
        super().__init__()
        self.steps = 0

    def update(self, tensor, name, compressor, tensor_compressed, ctx):
        self.steps += 1
        self.residuals[name] = tensor / self.steps


def _made_again(rank, world, where):
    infold.compress.add("failing", _Failing, memory=_Counting)
    first, other = dist.group.WORLD, dist.new_group()
    hooks = [infold.compress.hook("failing")._compressor for _ in range(2)]
    wanted = [_average(hooks[0], other, step) for step in range(4)]
    found = [_average(hooks[1], first, step) for step in range(2)]
    _Failing.where = where
    text = message_of(lambda: _average(hooks[1], first, 2))
    assert ("rank 1 left" if where == "compress" and rank == 0 else "today") in text, text
    _Failing.where = ""
    found += [_average(hooks[1], other, step) for step in (2, 3)]
    assert all(map(torch.equal, found, wanted))


@pytest.mark.parametrize("where", ("compress", "decompress"))
def test_a_memory_of_ones_own_is_not_changed_by_a_step_that_failed(where):
    run_ranks(2, _made_again, where)


class _OfObjects(_Residual):
    def compensate(self, tensor, name):
        self.last = _Residual()
        return super().compensate(tensor, name)


def _objects_in_a_memory(rank, world):
    infold.compress.add("objects", _Largest, memory=_OfObjects)
    text = message_of(lambda: _average(infold.compress.hook("objects")._compressor, None, 0))
    assert "attributes of _OfObjects have to be tensors" in text, text


def test_a_memory_whose_attributes_no_checkpoint_can_have_is_refused_in_its_first_step():
    run_ranks(1, _objects_in_a_memory)


class _Arrays(infold.compress.Compressor):
    def compress(self, tensor, name):
        return [tensor.numpy()], None


def _arrays_without_their_base(rank, world):
    infold.compress.add("arrays", _Arrays)
    compressor = infold.compress.hook("arrays")._compressor
    text = message_of(lambda: _average(compressor, None, 0))
    assert "NumpyCompressor" in text, text


def test_arrays_of_a_method_with_tensors_are_refused_by_name():
    run_ranks(1, _arrays_without_their_base)


def test_classes_that_cannot_be_ported_are_refused_when_they_are_added():
    class Voting(_Largest):
        def aggregate(self, tensors):
            return sum(tensors).sign()

    with pytest.raises(TypeError, match="aggregate"):
        infold.compress.add("voting", Voting)
    with pytest.raises(TypeError, match="a memory is for methods with torch's tensors"):
        infold.compress.add("arrays", _LargestInNumpy, memory=_Residual)
    with pytest.raises(ValueError, match="average is False"):
        infold.compress.Compressor(average=False)
    infold.compress.add("one memory", _Largest, memory=_Residual)
    with pytest.raises(ValueError, match="residual"):
        infold.compress.hook("one memory", memory="residual")


def test_own_methods_are_measured_as_built_in_ones_are():
    infold.compress.add("measured largest", _Largest)
    generator = torch.Generator().manual_seed(3)
    gradients = [torch.randn(20, 50, generator=generator) for _ in range(4)]
    for ratio in (0.05, 0.5):
        own = infold.compress.measure(
            "measured largest", gradients, elements=1000, world=4, seconds=0, ratio=ratio
        )
        built_in = infold.compress.measure(
            "topk", gradients, elements=1000, world=4, seconds=0, ratio=ratio
        )
        assert own["error"] == pytest.approx(built_in["error"], rel=1e-5)
        assert own["bits_received"] == pytest.approx(3 * own["bits_sent"])
        assert own["bits_sent"] > built_in["bits_sent"] > 32 * ratio
        assert own["encode_ratio"] > 0 and own["decode_gbps"] > 0


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(ValueError, match='no method "zip"'):
        infold.compress.measure("zip")
    with pytest.raises(ValueError, match="several sizes"):
        infold.compress.measure("none", [torch.ones(2), torch.ones(3)], elements=10, seconds=0)
