# SPDX-License-Identifier: Apache-2.0
"""Integers, minima and maxima are reduced to the same bits as with Gloo. Sums of floats are the
exact sum, rounded once; in a block format they are within its bound. What Gloo cannot reduce is
compared with plain torch."""

import expected
import pytest
import torch
import torch.distributed as dist
from expected import (
    FLOATS,
    SIZES,
    TYPES,
    WORLDS,
    check_reduction,
    is_sum_of_floats,
    numbers,
    sizes_for,
)
from ranks import run_ranks

SUMS = ("SUM", "AVG", "MIN", "MAX", "PRODUCT")
BITS = ("BAND", "BOR", "BXOR")


def _operations(dtype):
    if dtype.is_complex:
        return ("SUM", "AVG")
    if dtype in FLOATS:
        return SUMS
    return ("SUM", "MIN", "MAX", "PRODUCT") + BITS


def _gloo_reduces(dtype, operation):
    """Whether Gloo gives the same bits. It sums bools as numbers and lacks 16-bit integers."""
    return dtype not in (torch.int16, torch.bool) and not is_sum_of_floats(dtype, operation)


def _all_reduce(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES:
        for operation in _operations(dtype):
            for size in sizes_for(dtype, world):
                tensors = [numbers(dtype, (size,), each, size) for each in range(world)]
                name = f"all_reduce {operation} of {size} {dtype}"
                found = tensors[rank].clone()
                dist.all_reduce(found, getattr(dist.ReduceOp, operation))
                other = None
                if _gloo_reduces(dtype, operation):
                    other = tensors[rank].clone()
                    dist.all_reduce(other, getattr(dist.ReduceOp, operation), group=gloo)
                check_reduction(name, found, tensors, operation, other)


@pytest.mark.parametrize("world", WORLDS)
def test_all_reduce(world):
    run_ranks(world, _all_reduce)


def _reduce(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES:
        for operation in _operations(dtype):
            for size in SIZES[:-1]:
                root = size % world
                tensors = [numbers(dtype, (size,), each, size) for each in range(world)]
                name = f"reduce {operation} of {size} {dtype} to {root}"
                found = tensors[rank].clone()
                dist.reduce(found, root, getattr(dist.ReduceOp, operation))
                other = None
                if _gloo_reduces(dtype, operation):
                    other = tensors[rank].clone()
                    dist.reduce(other, root, getattr(dist.ReduceOp, operation), group=gloo)
                if rank == root:
                    check_reduction(name, found, tensors, operation, other)


@pytest.mark.parametrize("world", WORLDS)
def test_reduce(world):
    run_ranks(world, _reduce)


def _reduce_scatter(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES:
        for operation in _operations(dtype):
            for size in SIZES[:-1]:
                wholes = [numbers(dtype, (world, size), each, size) for each in range(world)]
                parts = [whole[rank] for whole in wholes]
                name = f"reduce_scatter {operation} of {size} {dtype}"
                answers = [_both_reduce_scatters(wholes[rank], operation, None)]
                if _gloo_reduces(dtype, operation):
                    answers.append(_both_reduce_scatters(wholes[rank], operation, gloo))
                for each in zip(*answers, strict=True):
                    check_reduction(name, each[0], parts, operation, *each[1:])


def _both_reduce_scatters(whole, operation, group):
    operation = getattr(dist.ReduceOp, operation)
    single, listed = torch.empty_like(whole[0]), torch.empty_like(whole[0])
    dist.reduce_scatter_single(single, whole.flatten(), operation, group=group)
    dist.reduce_scatter(listed, list(whole.clone()), operation, group=group)
    return single, listed


@pytest.mark.parametrize("world", WORLDS)
def test_reduce_scatter(world):
    run_ranks(world, _reduce_scatter)


def _premultiplied(rank, world):
    for dtype in (*FLOATS, torch.complex64, torch.int32):
        for factor in (2.0, 3.0 if dtype == torch.int32 else 0.125):
            tensors = [
                numbers(dtype, (1000,), each) // 16
                if dtype == torch.int32
                else numbers(dtype, (1000,), each)
                for each in range(world)
            ]
            scaled = [
                (each.to(torch.promote_types(dtype, torch.float64)) * factor).to(dtype)
                for each in tensors
            ]
            operation = expected.premultiplied(factor)
            found = tensors[rank].clone()
            dist.all_reduce(found, operation)
            check_reduction(f"all_reduce times {factor} of {dtype}", found, scaled, "SUM")
            found = tensors[rank].clone()
            dist.reduce(found, 0, operation)
            if rank == 0:
                check_reduction(f"reduce times {factor} of {dtype}", found, scaled, "SUM")
            part = torch.empty(1000, dtype=dtype)
            dist.reduce_scatter_single(part, tensors[rank].repeat(world), operation)
            check_reduction(f"reduce_scatter times {factor} of {dtype}", part, scaled, "SUM")


@pytest.mark.parametrize("world", WORLDS)
def test_sums_with_a_factor(world):
    run_ranks(world, _premultiplied)


def _two_ranks(rank, world):
    for dtype in FLOATS:
        for seed in range(4):
            ours = [numbers(dtype, (3000,), each, seed) for each in range(2)]
            ours[1][::3] *= 2.0**-9
            found = ours[rank].clone()
            dist.all_reduce(found)
            expected.check_same(f"{dtype}", found, ours[0] + ours[1])


def test_a_sum_of_two_ranks_is_a_plus_b(path):
    run_ranks(2, _two_ranks, options=path)


def _zeros_below_zero(rank, world):
    for dtype in FLOATS:
        tensor = torch.full((1000,), -0.0, dtype=dtype)
        dist.all_reduce(tensor)
        assert not torch.signbit(tensor).any() and not tensor.any()


def test_the_sum_of_two_zeros_below_zero_is_zero(path):
    run_ranks(2, _zeros_below_zero, options=path)


def _every_format(rank, world, wire):
    for dtype in FLOATS:
        for size in SIZES[:-1]:
            tensors = [numbers(dtype, (size,), each) for each in range(world)]
            for operation in ("SUM", "AVG"):
                found = tensors[rank].clone()
                dist.all_reduce(found, getattr(dist.ReduceOp, operation))
                expected.check_sum(
                    f"{wire} {operation} of {size} {dtype}", found, tensors, operation, wire
                )


@pytest.mark.parametrize("wire", ("bfp32", "bfp16", "bfp8"))
def test_each_wire_format_keeps_its_bound(wire):
    run_ranks(3, _every_format, wire, options={"wire": wire})
