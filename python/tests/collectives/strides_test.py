# SPDX-License-Identifier: Apache-2.0
"""Collectives read tensors with any strides and write results into them. The main collectives do so
on every path: between ranks, and at one or two switches."""

import expected
import pytest
import torch
import torch.distributed as dist
from expected import LAYOUTS, check_reduction, check_same, laid_out, numbers
from ranks import run_ranks


def _in_other_layouts(rank, world):
    for dtype in (torch.float32, torch.bfloat16, torch.int32, torch.int16, torch.complex64):
        for shape in ((), (8,), (40, 25), (3, 8, 16)):
            for layout in LAYOUTS:
                tensors = [numbers(dtype, shape, each) for each in range(world)]
                found = laid_out(tensors[rank], layout)
                if found is None:
                    continue
                name = f"of {layout} {dtype} {shape}"
                strides = found.stride()
                dist.all_reduce(found)
                check_reduction("all_reduce " + name, found, tensors, "SUM")
                assert found.stride() == strides
                _move_in_layout(rank, world, tensors, layout, name)


def _move_in_layout(rank, world, tensors, layout, name):
    shape, dtype = tensors[0].shape, tensors[0].dtype
    moved = laid_out(tensors[rank], layout)
    dist.broadcast(moved, world - 1)
    check_same("broadcast " + name, moved, tensors[-1])
    room = [laid_out(torch.zeros_like(tensors[0]), layout) for _ in range(world)]
    dist.all_gather(room, laid_out(tensors[rank], layout))
    for each, sent in zip(room, tensors, strict=True):
        check_same("all_gather " + name, each, sent)
    whole = torch.zeros(world, *shape, dtype=dtype)
    output = laid_out(whole, layout)
    source = laid_out(tensors[rank], layout)
    if output is not None:
        dist.all_gather_single(output, source)
        check_same("all_gather_single " + name, output, torch.stack(tensors))
        part = laid_out(torch.zeros(shape, dtype=dtype), layout)
        dist.reduce_scatter_single(part, laid_out(torch.stack(tensors), layout))
        check_reduction("reduce_scatter " + name, part, [tensors[rank]] * world, "SUM")


@pytest.mark.parametrize("world", (1, 3))
def test_any_layout(world):
    run_ranks(world, _in_other_layouts)


def _delegated_layouts(rank, world):
    """The same for calls that go to Gloo."""
    for dtype in (torch.float32, torch.int16, torch.bool, torch.complex64):
        for layout in LAYOUTS:
            tensors = [numbers(dtype, (world, 6), each) for each in range(world)]
            source = laid_out(tensors[rank], layout)
            if source is None:
                continue
            name = f"of {layout} {dtype}"
            product = laid_out(tensors[rank], layout)
            if not dtype.is_complex:
                dist.all_reduce(product, dist.ReduceOp.PRODUCT)
                wanted = expected.plain("PRODUCT", tensors).to(dtype)
                assert torch.allclose(product, wanted), "product " + name
            _gather_and_scatter(rank, world, tensors, layout, name)
            output = laid_out(torch.zeros_like(tensors[0]), layout)
            dist.all_to_all_single(output, source)
            check_same(
                "all_to_all_single " + name, output, torch.stack([each[rank] for each in tensors])
            )
            outputs = [
                laid_out(
                    torch.zeros(6, dtype=dtype), layout if layout != "transposed" else "strided"
                )
                for _ in range(world)
            ]
            dist.all_to_all(outputs, list(source))
            check_same(
                "all_to_all " + name,
                torch.stack(outputs),
                torch.stack([each[rank] for each in tensors]),
            )


def _gather_and_scatter(rank, world, tensors, layout, name):
    room = [laid_out(torch.zeros_like(tensors[0]), layout) for _ in range(world)]
    dist.gather(laid_out(tensors[rank], layout), room if rank == 0 else None, dst=0)
    for each, sent in zip(room, tensors, strict=True):
        if rank == 0:
            check_same("gather " + name, each, sent)
    mine = laid_out(torch.zeros_like(tensors[0]), layout)
    sent = [laid_out(each, layout) for each in tensors] if rank == world - 1 else None
    dist.scatter(mine, sent, src=world - 1)
    check_same("scatter " + name, mine, tensors[rank])


@pytest.mark.parametrize("world", (1, 3))
def test_any_layout_of_what_is_not_summed(world):
    run_ranks(world, _delegated_layouts)


def _everything_once(rank, world):
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int16, torch.bool):
        tensors = [numbers(dtype, (20_000,), each) for each in range(world)]
        found = tensors[rank].clone()
        dist.all_reduce(found)
        check_reduction(f"all_reduce of {dtype}", found, tensors, "SUM")
        found = tensors[rank].clone()
        dist.reduce(found, 1, dist.ReduceOp.MAX)
        if rank == 1:
            check_reduction(f"reduce of {dtype}", found, tensors, "MAX")
        _move_in_layout(rank, world, tensors, "plain", f"of {dtype}")
        dist.barrier()


def test_on_every_path(path):
    run_ranks(3, _everything_once, options=path)
