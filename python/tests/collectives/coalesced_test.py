# SPDX-License-Identifier: Apache-2.0
"""Collectives as DTensor, tensor parallelism and compiled programs call them: through the
functional operations, and with many tensors in one call."""

import warnings

import expected
import pytest
import torch
import torch._dynamo  # otherwise the functional operations would load it in each rank
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from expected import check_same, numbers
from ranks import run_ranks

import infold

WORLDS = tuple(range(1, 9))
TYPES = (torch.float32, torch.bfloat16, torch.int64, torch.int16)
SIZES = (1, 7, 64, 1000)


def _each(dtype, shape, world, seed=0):
    return [numbers(dtype, shape, rank, seed) for rank in range(world)]


def _check(name, found, tensors, operation="SUM"):
    if tensors[0].dtype.is_floating_point and operation in ("SUM", "AVG"):
        expected.check_sum(name, found, tensors, operation)
    else:
        check_same(name, found, expected.plain(operation, tensors).to(found.dtype))


def _functional(rank, world):
    group = dist.group.WORLD
    for dtype in TYPES:
        tensors = _each(dtype, (2 * world, 5), world)
        mine = tensors[rank]
        for operation in ("sum", "max"):
            _check(
                f"all_reduce of {dtype}",
                functional.all_reduce(mine, operation, group),
                tensors,
                operation.upper(),
            )
            found = functional.reduce_scatter_tensor(mine, operation, 0, group)
            _check(
                f"reduce_scatter of {dtype}",
                found,
                [each[2 * rank : 2 * rank + 2] for each in tensors],
                operation.upper(),
            )
        for dimension in (0, 1):
            check_same(
                f"all_gather along {dimension} of {dtype}",
                functional.all_gather_tensor(mine, dimension, group).clone(),
                torch.cat(tensors, dimension),
            )
        check_same(
            f"broadcast of {dtype}",
            functional.broadcast(mine, world - 1, group).clone(),
            tensors[-1],
        )
        check_same(
            f"all_to_all_single of {dtype}",
            functional.all_to_all_single(mine, None, None, group).clone(),
            torch.cat([each[2 * rank : 2 * rank + 2] for each in tensors]),
        )
        assert torch.equal(mine, tensors[rank])


@pytest.mark.parametrize("world", WORLDS)
def test_functional_collectives(world):
    run_ranks(world, _functional)


def _functional_splits(rank, world):
    """Rank a sends a + 2b rows to rank b."""
    ins = [rank + 2 * to for to in range(world)]
    outs = [of + 2 * rank for of in range(world)]
    sent = _each(torch.float32, (10 * world, 3), world)
    found = functional.all_to_all_single(sent[rank][: sum(ins)], outs, ins, dist.group.WORLD)
    starts = [sum(of + 2 * to for to in range(rank)) for of in range(world)]
    check_same(
        "all_to_all_single in parts",
        found.clone(),
        torch.cat(
            [
                sent[of][start : start + rows]
                for of, (start, rows) in enumerate(zip(starts, outs, strict=True))
            ]
        ),
    )


@pytest.mark.parametrize("world", (1, 3))
def test_functional_all_to_all_in_parts(world):
    run_ranks(world, _functional_splits)


def _functional_lists(rank, world):
    group = dist.group.WORLD
    for dtype in TYPES:
        lists = [_each(dtype, (size * world,), world, size) for size in SIZES]
        mine = [tensors[rank] for tensors in lists]
        for found, tensors in zip(
            functional.all_reduce_coalesced(mine, "sum", group), lists, strict=True
        ):
            _check(f"all_reduce_coalesced of {dtype}", found, tensors)
        for found, tensors in zip(
            functional.all_gather_into_tensor_coalesced(mine, group), lists, strict=True
        ):
            check_same(f"all_gather_coalesced of {dtype}", found.clone(), torch.cat(tensors))
        found = functional.reduce_scatter_tensor_coalesced(mine, "sum", [0] * len(mine), group)
        for part, tensors in zip(found, lists, strict=True):
            _check(
                f"reduce_scatter_coalesced of {dtype}",
                part,
                [each.chunk(world)[rank] for each in tensors],
            )


@pytest.mark.parametrize("world", WORLDS)
def test_functional_collectives_of_many_tensors(world):
    run_ranks(world, _functional_lists)


def _manager(rank, world, is_async):
    lists = [_each(torch.float32, (size * world,), world, size) for size in SIZES]
    for operation in ("SUM", "MAX", "PRODUCT"):
        found = [tensors[rank].clone() for tensors in lists]
        with dist._coalescing_manager(async_ops=is_async) as coalesced:
            for tensor in found:
                dist.all_reduce(tensor, getattr(dist.ReduceOp, operation))
        if is_async:
            coalesced.wait()
        for tensor, tensors in zip(found, lists, strict=True):
            if operation != "PRODUCT":
                _check(f"{operation} of many", tensor, tensors, operation)
            else:
                product = expected.plain(operation, tensors).to(tensor.dtype)
                assert torch.allclose(tensor, product, rtol=world * 2.0**-23)
    _manager_of_parts(rank, world, is_async, lists)


def _manager_of_parts(rank, world, is_async, lists):
    wholes = [torch.empty(world * tensors[0].numel()) for tensors in lists]
    with dist._coalescing_manager(async_ops=is_async) as coalesced:
        for whole, tensors in zip(wholes, lists, strict=True):
            dist.all_gather_single(whole, tensors[rank])
    if is_async:
        coalesced.wait()
    parts = [torch.empty(tensors[0].numel() // world) for tensors in lists]
    with dist._coalescing_manager(async_ops=is_async) as coalesced:
        for part, tensors in zip(parts, lists, strict=True):
            dist.reduce_scatter_single(part, tensors[rank])
    if is_async:
        coalesced.wait()
    for whole, part, tensors in zip(wholes, parts, lists, strict=True):
        check_same("all_gather of many", whole, torch.cat(tensors))
        _check("reduce_scatter of many", part, [each.chunk(world)[rank] for each in tensors])


@pytest.mark.parametrize("is_async", (False, True))
@pytest.mark.parametrize("world", (1, 3))
def test_coalescing_manager(world, is_async):
    run_ranks(world, _manager, is_async)


def _mixed_list(rank, world):
    """Layouts and types that must be converted before the single call."""
    shapes = ((), (4, 6), (100,))
    tensors = [_each(torch.int16, shape, world) for shape in shapes]
    found = [each[rank].clone() for each in tensors]
    found[1] = expected.laid_out(found[1], "transposed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the name is deprecated but in use
        dist.all_reduce_coalesced(found)
    for tensor, each in zip(found, tensors, strict=True):
        _check("all_reduce_coalesced", tensor, each)
    lists = [[torch.zeros_like(each[0]) for each in tensors] for _ in range(world)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dist.all_gather_coalesced(lists, [each[rank] for each in tensors])
    for of_rank, room in enumerate(lists):
        for tensor, each in zip(room, tensors, strict=True):
            check_same("all_gather_coalesced", tensor, each[of_rank])


@pytest.mark.parametrize("world", (1, 3))
def test_lists_of_other_layouts(world):
    run_ranks(world, _mixed_list)


def _futures_of_lists(rank, world):
    """A future has the value of Gloo's: a list of lists, or one list if there is only one."""
    backend = infold._registration.backend_of()
    inputs = [torch.full((2,), 10 * rank + number) for number in range(2)]
    wanted = [
        [torch.full((2,), 10 * each + number) for number in range(2)] for each in range(world)
    ]

    def value_of(work):
        future = work.get_future()
        future.wait()
        return future.value()

    def check(name, found, expected_lists):
        found = [found] if isinstance(found[0], torch.Tensor) else found
        assert [len(each) for each in found] == [len(each) for each in expected_lists], name
        for one, other in zip(sum(found, []), sum(expected_lists, []), strict=True):
            check_same(name, one, other)

    of_one = value_of(
        backend.allgather([[torch.zeros_like(inputs[0]) for _ in range(world)]], inputs[:1])
    )
    assert isinstance(of_one[0], torch.Tensor)
    check("all_gather of one", of_one, [[each[0] for each in wanted]])
    rooms = [[torch.zeros_like(inputs[0]) for _ in range(2 * world)] for _ in range(2)]
    check("all_gather of two", value_of(backend.allgather(rooms, inputs)), [sum(wanted, [])] * 2)
    rooms = [[torch.zeros_like(inputs[0]) for _ in range(2)] for _ in range(world)]
    check("all_gather_coalesced", value_of(backend.allgather_coalesced(rooms, inputs)), wanted)


@pytest.mark.parametrize("world", (1, 3))
def test_futures_have_lists_as_gloo_has_them(world):
    run_ranks(world, _futures_of_lists)


def _everywhere(rank, world):
    _functional(rank, world)
    _functional_lists(rank, world)


def test_on_every_path(path):
    run_ranks(3, _everywhere, options=path)
