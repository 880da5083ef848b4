# SPDX-License-Identifier: Apache-2.0
"""Callbacks of futures may wait for other futures and make calls, at any depth, because they never
run on a thread that another future needs. DDP's communication hooks do both."""

import threading

import pytest
import torch
import torch.distributed as dist
from failing import SOON_S, message_of
from ranks import run_ranks
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import (
    ddp_zero_hook,
    debugging_hooks,
    default_hooks,
    post_localSGD_hook,
    powerSGD_hook,
    quantization_hooks,
)
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def _future(operation=dist.ReduceOp.SUM, tensor=None):
    tensor = torch.full((100,), 2.0) if tensor is None else tensor
    return dist.all_reduce(tensor, operation, async_op=True).get_future()


def _total(world, operation):
    return 2.0**world if operation == dist.ReduceOp.PRODUCT else 2.0 * world


def _nested(rank, world, depth, operation):
    """Each callback makes a call and waits for it. That call's callback does the same."""

    def descend(done, level):
        assert float(done.value()[0][0]) == _total(world, operation)
        if level == depth:
            return level
        return _future(operation).then(lambda inner: descend(inner, level + 1)).wait()

    futures = [_future(operation).then(lambda done: descend(done, 1)) for _ in range(3)]
    assert [each.wait() for each in futures] == [depth] * 3


@pytest.mark.parametrize("operation", ("SUM", "PRODUCT"), ids=("infolds", "gloos"))
@pytest.mark.parametrize("depth", (2, 12))
def test_callbacks_may_wait_for_calls(depth, operation):
    run_ranks(2, _nested, depth, getattr(dist.ReduceOp, operation))


def _chained(rank, world, links):
    future = _future()
    for _ in range(links):
        future = future.then(
            lambda done: [done.value()[0] if isinstance(done.value(), list) else done.value()]
        )
    assert float(future.wait()[0][0]) == 2.0 * world
    sums = [_future().then(lambda done: _future().wait()[0] + done.value()[0]) for _ in range(50)]
    for each in torch.futures.collect_all(sums).wait():
        assert float(each.value()[0]) == 4.0 * world


def test_chains_of_callbacks():
    run_ranks(2, _chained, 200)


def _in_order(rank, world):
    """A work's future is done after the wait. No callback runs on the waiting thread."""
    held = threading.Lock()
    seen = []

    def note(done):
        with held:
            seen.append(threading.get_ident())
        return done.value()

    for operation in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT):
        work = dist.all_reduce(torch.full((100,), 2.0), operation, async_op=True)
        future = work.get_future()
        noted = future.then(note)
        with held:  # which the callback also needs
            work.wait()
            assert future.done() and work.is_completed()
        noted.wait()
    assert threading.get_ident() not in seen and len(seen) == 2


def test_a_wait_completes_the_future_and_runs_no_callback():
    run_ranks(2, _in_order)


def _ended_in_a_callback(rank, world):
    """The group ends while callbacks wait for calls that no rank completes."""
    group = dist.new_group()
    dist.all_reduce(torch.ones(1), group=group)
    waits = threading.Event()

    def wait_for_one_more(done):
        waits.set()
        if rank == 0:
            dist.all_reduce(torch.ones(10), group=group, async_op=True).get_future().wait()
        return done.value()

    future = dist.all_reduce(torch.ones(5), group=group, async_op=True).get_future()
    outer = future.then(wait_for_one_more)
    assert waits.wait(SOON_S)
    group.abort()
    if rank == 0:
        assert "infold" in message_of(outer.wait)


def test_callbacks_that_wait_end_with_their_group():
    run_ranks(2, _ended_in_a_callback, timeout_s=100)


def _group_ended_by_a_callback(rank, world):
    group = dist.new_group()
    future = dist.all_reduce(torch.ones(5), group=group, async_op=True).get_future()
    future.then(lambda done: dist.destroy_process_group(group)).wait()
    assert float(_future().wait()[0][0]) == 2.0 * world


def test_a_callback_may_end_its_group():
    run_ranks(2, _group_ended_by_a_callback)


# PyTorch's hooks: a model trains, and the ranks end with the same parameters. Some hooks raise on
# the CPU with any backend, because their kernels need CUDA, or because they refuse their own input
# (batched_powerSGD).


def _power(state_of, hook):
    def register(model):
        model.register_comm_hook(state_of(), hook)

    return register


def _power_state(**words):
    return lambda: powerSGD_hook.PowerSGDState(
        None, matrix_approximation_rank=2, start_powerSGD_iter=2, **words
    )


def _post_local(model):
    state = post_localSGD_hook.PostLocalSGDState(None, dist.new_group([dist.get_rank()]), 2)
    state.subgroup = dist.new_subgroups(1)[0]
    model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)


def _stateless(hook):
    return lambda model: model.register_comm_hook(None, hook)


def _of_group(hook):
    return lambda model: model.register_comm_hook(dist.group.WORLD, hook)


def _bf16(state, bucket):
    """Under its own name, DDP accepts this hook only with NCCL."""
    return default_hooks.bf16_compress_hook(state, bucket)


_HOOKS = {
    "allreduce": _stateless(default_hooks.allreduce_hook),
    "fp16": _stateless(default_hooks.fp16_compress_hook),
    "bf16": _stateless(_bf16),
    "fp16_wrapped": _stateless(default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)),
    "powerSGD": _power(_power_state(), powerSGD_hook.powerSGD_hook),
    "powerSGD_orthogonalized": _power(
        _power_state(use_error_feedback=True, warm_start=False), powerSGD_hook.powerSGD_hook
    ),
    "batched_powerSGD": _power(_power_state(), powerSGD_hook.batched_powerSGD_hook),
    "fp16_powerSGD": _power(
        _power_state(), default_hooks.fp16_compress_wrapper(powerSGD_hook.powerSGD_hook)
    ),
    "post_localSGD": _post_local,
    "noop": _stateless(debugging_hooks.noop_hook),
    "quantization_pertensor": _of_group(quantization_hooks.quantization_pertensor_hook),
    "quantization_perchannel": _of_group(quantization_hooks.quantization_perchannel_hook),
}
_HOOKS_THAT_RAISE = {
    "batched_powerSGD": AssertionError,
    "quantization_pertensor": RuntimeError,
    "quantization_perchannel": RuntimeError,
}
# With these hooks the ranks keep different gradients.
_HOOKS_OF_EACH_RANK = ("post_localSGD", "noop")


def _model():
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(40, 60), nn.ReLU(), nn.Linear(60, 30), nn.ReLU(), nn.Linear(30, 1)
    )


def _train(model, optimizer, rank, steps=6):
    """Returns the parameters, which every step must change."""
    for step in range(steps):
        before = [each.detach().clone() for each in model.parameters()]
        torch.manual_seed(100 * step + rank)
        inputs = torch.randn(8, 40)
        loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    after = [each.detach() for each in model.parameters()]
    assert not any(torch.equal(*pair) for pair in zip(before, after, strict=True))
    return [each.tolist() for each in after]


def _hooked(rank, world, name):
    torch.manual_seed(7)
    model = DistributedDataParallel(_model(), bucket_cap_mb=0.01)
    _HOOKS[name](model)
    if name not in _HOOKS_THAT_RAISE:
        return _train(model, torch.optim.SGD(model.parameters(), 0.01), rank)
    with pytest.raises(_HOOKS_THAT_RAISE[name]) as raised:
        _train(model, torch.optim.SGD(model.parameters(), 0.01), rank)
    assert "infold" not in str(raised.value)
    return name


@pytest.mark.parametrize("name", _HOOKS)
def test_torchs_hooks(name):
    found = run_ranks(2, _hooked, name)
    assert (found[0] == found[1]) == (name not in _HOOKS_OF_EACH_RANK)


def _zero(rank, world):
    torch.manual_seed(7)
    model = DistributedDataParallel(_model(), bucket_cap_mb=0.01, gradient_as_bucket_view=True)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), optimizer_class=torch.optim.SGD, lr=0.01, overlap_with_ddp=True
    )
    model.register_comm_hook(
        None, ddp_zero_hook.hook_with_zero_step(default_hooks.allreduce_hook, model, optimizer)
    )
    return _train(model, optimizer, rank)


def test_torchs_zero_hook():
    found = run_ranks(2, _zero)
    assert found[0] == found[1]
