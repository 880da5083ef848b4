# SPDX-License-Identifier: Apache-2.0
"""Compressed gradients have the same bits in FSDP2 as in DistributedDataParallel: the same means,
and the same memories under the same names. Each rank keeps its shard."""

import models
import pytest
import torch
import torch.distributed as dist
from failing import message_of
from ranks import run_ranks, running_switches
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Shard
from torch.nn.parallel import DistributedDataParallel

import infold
from infold._sharded import groups_of

_STEPS = 6
_CHOICES = {
    "none": ("none", {}),
    "topk": ("topk", {"ratio": 0.05, "memory": "residual"}),
    "shared": ("shared", {"memory": "residual"}),
    "powersgd": ("powersgd", {"rank": 2, "memory": "residual"}),
}


def _hook(choice):
    method, options = _CHOICES[choice]
    return infold.compress.hook(method, seed=3, **options)


def _sgd(model):
    return torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def _sharded(world, **options):
    """A model with a group of parameters for each block, and one for the rest."""
    model = models.made("transformer")
    options["mesh"] = init_device_mesh("cpu", (world,))
    for block in model.blocks:
        fully_shard(block, **options)
    return fully_shard(model, **options)


def _whole(model):
    return {
        name: getattr(each, "full_tensor", lambda each=each: each)().detach()
        for name, each in model.named_parameters()
    }


def _check_same(found, wanted):
    assert found.keys() == wanted.keys()
    for name, tensor in found.items():
        assert torch.equal(tensor, wanted[name]), name


def _like_ddp(rank, world, choice):
    replicated = DistributedDataParallel(models.made("transformer"), bucket_cap_mb=0.02)
    wanted = _hook(choice).register(replicated)
    its_losses = models.train(replicated, _sgd(replicated), "transformer", rank, _STEPS)
    model = _sharded(world)
    found = _hook(choice).register(model)
    losses = models.train(model, _sgd(model), "transformer", rank, _STEPS)
    assert losses == its_losses
    _check_same(_whole(model), _whole(replicated.module))
    states = [each.state_dict()["parameters"] for each in (found, wanted)]
    assert states[0].keys() == states[1].keys() == dict(replicated.module.named_parameters()).keys()
    for name, kept in states[0].items():
        _check_same(kept, states[1][name])
    assert found.statistics()["calls"] == _STEPS * 3
    assert found.statistics()["bytes_before"] == wanted.statistics()["bytes_before"]
    return losses


@pytest.mark.parametrize("choice", _CHOICES)
def test_training_has_the_bits_of_ddp(choice):
    """Uses three ranks, so that the shards of 32 or 64 rows have different lengths."""
    answers = run_ranks(3, _like_ddp, choice)
    assert all(losses[-1] < losses[0] for losses in answers)


def test_training_has_the_same_bits_over_a_switch():
    with running_switches(1) as switch:
        assert run_ranks(2, _like_ddp, "shared", options=switch) == run_ranks(
            2, _like_ddp, "shared"
        )


_SIZES = ((7, 3), (1, 5), (4,), (6, 9), (3, 2, 6), (2,))


class _Sizes(torch.nn.Module):
    """A module whose gradients are its inputs."""

    def __init__(self):
        super().__init__()
        self.all = torch.nn.ParameterList(torch.zeros(sizes) for sizes in _SIZES)

    def forward(self, *inputs):
        return sum((each * given).sum() for each, given in zip(self.all, inputs, strict=False))


def _inputs(rank):
    random = torch.Generator().manual_seed(11 + rank)
    return [torch.randint(-64, 64, sizes, generator=random) / 4 for sizes in _SIZES]


def _means(rank, world, type, last_sides, setting):
    """All inputs, sums and means are exact in each type, except for a division by three."""
    model = _Sizes()
    policy = MixedPrecisionPolicy(reduce_dtype=getattr(torch, type))
    fully_shard(
        model,
        mesh=init_device_mesh("cpu", (world,)),
        mp_policy=policy,
        shard_placement_fn=lambda each: Shard(
            each.dim() - 1 if last_sides and each.shape[-1] % world == 0 else 0
        ),
    )
    divisor = world
    if setting:
        model.set_force_sum_reduction_for_comms(True)
    if setting == "divisor":
        divisor = 8
        model.set_gradient_divide_factor(divisor)
    _hook("none").register(model)
    model(*_inputs(rank)).backward()
    for each, *given in zip(model.all, *map(_inputs, range(world)), strict=True):
        found = each.grad.full_tensor()
        wanted = sum(given) / divisor
        close = torch.allclose(found, wanted, rtol=4 * torch.finfo(policy.reduce_dtype).eps, atol=0)
        assert close, (found, wanted)


@pytest.mark.parametrize("setting", ("", "sum", "divisor"))
@pytest.mark.parametrize("last_sides", (False, True), ids=("first side", "last sides"))
@pytest.mark.parametrize("type", ("float32", "bfloat16", "float16"))
def test_means_of_all_sizes_types_and_shards(type, last_sides, setting):
    run_ranks(3, _means, type, last_sides, setting)


def _accumulated(rank, world):
    """Two backward passes make one step."""
    replicated = DistributedDataParallel(models.made("transformer"))
    model = _sharded(world)
    hooks = [_hook("topk").register(each) for each in (replicated, model)]
    for each, hook in zip((replicated, model), hooks, strict=True):
        for step in range(2):
            is_last = step == 1
            if each is model:
                model.set_requires_gradient_sync(is_last)
            else:
                replicated.require_backward_grad_sync = is_last
            inputs, classes = models.batch("transformer", rank, step)
            torch.nn.functional.cross_entropy(each(inputs), classes).backward()
        gradients = {name: parameter.grad for name, parameter in each.named_parameters()}
        if each is model:
            found = {name: grad.full_tensor() for name, grad in gradients.items()}
            wanted = {name: replicated.module.get_parameter(name).grad for name in found}
            _check_same(found, wanted)
            assert hook.statistics()["calls"] == 3


def test_accumulated_gradients_travel_once():
    run_ranks(2, _accumulated)


def _resumed(rank, world):
    def run(steps, first, saved=None):
        model = _sharded(world)
        hook = _hook("topk").register(model)
        optimizer = _sgd(model)
        if saved:
            hook.load_state_dict(saved["compression"])
            optimizer.load_state_dict(saved["optimizer"])
            with torch.no_grad():
                for each, its in zip(model.parameters(), saved["shards"], strict=True):
                    each.to_local().copy_(its)
        models.train(model, optimizer, "transformer", rank, steps, first)
        return models.digest(model), {
            "compression": hook.state_dict(),
            "optimizer": optimizer.state_dict(),
            "shards": [each.to_local().detach().clone() for each in model.parameters()],
        }

    whole, _ = run(6, 0)
    _, saved = run(3, 0)
    assert run(3, 3, saved)[0] == whole
    saved["compression"]["parameters"] = {}
    assert run(3, 3, saved)[0] != whole


def test_a_checkpoint_resumes_with_the_same_bits():
    run_ranks(2, _resumed)


class _Failing(infold.compress.Compressor):
    """Fails at one rank before its codes travel, or at all ranks after they have arrived."""

    where = ""

    def compress(self, tensor, name):
        if self.where == "compress" and dist.get_rank() == 1:
            raise ValueError("no codes today")
        flat = tensor.flatten()
        indices = flat.abs().topk(flat.numel() // 4 + 1).indices
        return [indices, flat[indices]], tensor.shape

    def decompress(self, tensors, context):
        if self.where == "decompress":
            raise ValueError("no tensors today")
        return torch.zeros(context.numel()).index_put_((tensors[0],), tensors[1]).view(context)


def _made_again(rank, world, where):
    """The second step fails, and is made again in another group."""
    infold.compress.add("failing", _Failing)

    def step(model, group, number):
        [(_, parameters)] = groups_of(model)
        shards = parameters._reduce_scatter_comm
        buffer = shards.allocate((30 * world,), dtype=torch.float32, device=torch.device("cpu"))
        buffer.copy_(
            torch.randn(buffer.shape, generator=torch.Generator().manual_seed(10 * number + rank))
        )
        before = buffer.clone()
        output = shards.allocate((30,), dtype=torch.float32, device=torch.device("cpu"))
        try:
            shards(output_tensor=output, input_tensor=buffer, group=group, op=dist.ReduceOp.AVG)
        finally:
            assert torch.equal(buffer, before)
        return output

    hooks, all_models = [], []
    for _ in range(2):
        model = fully_shard(torch.nn.Linear(9, 3 * world), mesh=init_device_mesh("cpu", (world,)))
        hooks.append(infold.compress.hook("failing", memory="residual", seed=5).register(model))
        all_models.append(model)
    first, other = dist.group.WORLD, dist.new_group()
    wanted = [step(all_models[0], other, number) for number in range(3)]
    found = [step(all_models[1], first, 0)]
    _Failing.where = where
    text = message_of(lambda: step(all_models[1], first, 1))
    assert ("rank 1 left" if where == "compress" and rank == 0 else "today") in text, text
    _Failing.where = ""
    found += [step(all_models[1], other, number) for number in (1, 2)]
    assert all(map(torch.equal, found, wanted)), (found, wanted)
    for name, kept in hooks[1].state_dict()["parameters"].items():
        _check_same(kept, hooks[0].state_dict()["parameters"][name])


@pytest.mark.parametrize("where", ("compress", "decompress"))
def test_a_step_that_failed_is_made_again_with_the_same_bits(where):
    run_ranks(2, _made_again, where)


def _unused(rank, world):
    """The last parameter has no gradient."""
    for zeros in (False, True):
        model = fully_shard(_Sizes(), mesh=init_device_mesh("cpu", (world,)))
        _hook("none").register(model)
        loss = model(*_inputs(rank)[:-1])
        if not zeros:
            text = message_of(loss.backward)
            assert "all.5 have" in text, text
            assert "set_reduce_scatter_unused_params(True)" in text, text
            continue
        if not hasattr(model, "set_reduce_scatter_unused_params"):
            continue  # FSDP of torch 2.11 cannot do this
        model.set_reduce_scatter_unused_params(True)
        loss.backward()
        assert not model.all[-1].grad.full_tensor().any()
    model = _Sizes()
    model.all[2].requires_grad_(False)
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    _hook("none").register(model)
    model(*_inputs(rank)).backward()
    wanted = sum(_inputs(each)[3] for each in range(world)) / world
    assert torch.equal(model.all[3].grad.full_tensor(), wanted)


def test_parameters_without_a_gradient_are_named_or_zero_or_frozen():
    run_ranks(2, _unused)


def _premultiplied(rank, world):
    model = fully_shard(_Sizes(), mesh=init_device_mesh("cpu", (world,)))
    model.set_gradient_divide_factor(5)
    hook = _hook("topk").register(model)
    text = message_of(model(*_inputs(rank)).backward)
    assert "PREMUL_SUM" in text and "set_force_sum_reduction_for_comms(True)" in text, text
    assert hook.statistics()["calls"] == 0


def test_a_sum_with_factors_is_refused():
    run_ranks(2, _premultiplied)


def _not_for_us(rank, world, kind, words):
    both = init_device_mesh("cpu", (1, world), mesh_dim_names=("one", "all"))
    model = torch.nn.Sequential(_Sizes(), _Sizes())
    if kind == "sizes":
        fully_shard(model[0], mesh=both["one"])
    fully_shard(model, mesh=both if kind == "hsdp" else both["all"])
    text = message_of(
        lambda: _hook("topk").register(model, dist.group.WORLD if kind == "group" else None)
    )
    assert words in text, text


@pytest.mark.parametrize(
    "kind, backend, words",
    (
        ("hsdp", "infold", "with replicas (HSDP)"),
        ("sizes", "infold", "the model has meshes of several sizes"),
        ("gloo", "gloo", "this group's backend is gloo, not infold"),
        ("group", "infold", "FSDP2 has its process group from fully_shard()'s mesh"),
    ),
)
def test_other_groups_are_refused(kind, backend, words):
    run_ranks(2, _not_for_us, kind, words, backend=backend)


def _other_choices(rank, world):
    model = _sharded(world)
    infold.compress.hook("topk", ratio=0.1 if rank == 1 else 0.2).register(model)
    text = message_of(lambda: models.train(model, _sgd(model), "transformer", rank, 1))
    assert "rank 1 has other settings than rank 0" in text, text


def test_ranks_with_other_settings_get_one_mismatch():
    run_ranks(3, _other_choices)
