# SPDX-License-Identifier: Apache-2.0
"""Collectives that only move data give the same bytes as Gloo, for every type."""

import pytest
import torch
import torch.distributed as dist
from expected import FLOATS, SIZES, TYPES, WORLDS, check_same, numbers, sizes_for
from ranks import run_ranks


def _moves(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES:
        for size in sizes_for(dtype, world):
            mine = numbers(dtype, (size,), rank, size)
            name = f"of {size} {dtype}"
            for group_calls in (_broadcasts, _gathers):
                found = group_calls(rank, world, mine, None)
                if dtype != torch.int16:
                    wanted = group_calls(rank, world, mine, gloo)
                else:
                    wanted = group_calls(rank, world, mine, None, as_bytes=True)
                for call, value in found.items():
                    check_same(f"{call} {name}", value, wanted[call])


def _broadcasts(rank, world, mine, group, as_bytes=False):
    found = {}
    for root in {0, world - 1}:
        tensor = mine.clone()
        dist.broadcast(tensor.view(torch.uint8) if as_bytes else tensor, root, group=group)
        found[f"broadcast from {root}"] = tensor
    return found


def _gathers(rank, world, mine, group, as_bytes=False):
    source = mine.view(torch.uint8) if as_bytes else mine
    room = [torch.empty_like(source) for _ in range(world)]
    dist.all_gather(room, source, group=group)
    whole = torch.empty(world * source.numel(), dtype=source.dtype)
    dist.all_gather_single(whole, source, group=group)
    return {
        "all_gather": torch.cat(room).view(mine.dtype),
        "all_gather_single": whole.view(mine.dtype),
    }


@pytest.mark.parametrize("world", WORLDS)
def test_broadcast_and_all_gather(world):
    run_ranks(world, _moves)


# Neither infold nor Gloo sums these types. Moving them needs only their size.
_MOVED_ONLY = (
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.complex32,
    torch.complex128,
)


def _move_any_type(rank, world):
    for dtype in _MOVED_ONLY:
        of_ranks = [
            numbers(torch.uint8, (6 * world * dtype.itemsize,), each).view(dtype)
            for each in range(world)
        ]
        mine = of_ranks[rank]
        for call, found in (
            _broadcasts(rank, world, mine, None) | _gathers(rank, world, mine, None)
        ).items():
            root = call.rpartition(" ")[2]
            wanted = of_ranks[int(root)] if root.isdigit() else torch.cat(of_ranks)
            check_same(f"{call} of {dtype}", found.view(torch.uint8), wanted.view(torch.uint8))
        _delegate_any_type(rank, world, of_ranks, dtype)


def _delegate_any_type(rank, world, of_ranks, dtype):
    parts = [each.view(world, 6) for each in of_ranks]
    mine, room = torch.zeros(6, dtype=dtype), torch.zeros(6 * world, dtype=dtype)
    dist.all_to_all_single(room, of_ranks[rank].clone())
    check_same(
        f"all_to_all_single of {dtype}",
        room.view(torch.uint8),
        torch.cat([part[rank].view(torch.uint8) for part in parts]),
    )
    dist.scatter(mine, list(parts[0]) if rank == 0 else None, 0)
    check_same(f"scatter of {dtype}", mine.view(torch.uint8), parts[0][rank].view(torch.uint8))
    listed = [torch.zeros(6, dtype=dtype) for _ in range(world)]
    dist.gather(parts[rank][0].clone(), listed if rank == 0 else None, 0)
    for found, part in zip(listed, parts, strict=True):
        if rank == 0:
            check_same(f"gather of {dtype}", found.view(torch.uint8), part[0].view(torch.uint8))
    sent = dist.isend(of_ranks[rank], (rank + 1) % world)
    dist.recv(room, (rank - 1) % world)
    sent.wait()
    check_same(
        f"recv of {dtype}", room.view(torch.uint8), of_ranks[(rank - 1) % world].view(torch.uint8)
    )


def test_types_that_are_only_moved():
    run_ranks(3, _move_any_type)


def _one_buffer_many_times(rank, world):
    buffer = torch.zeros(10)
    dist.all_gather([buffer] * world, torch.full((10,), float(rank)))
    assert float(buffer[0]) in range(world) and bool((buffer == buffer[0]).all())
    everything = torch.zeros(world, 10)
    everything[rank] = rank + 1
    dist.all_gather_single(everything.view(-1), everything[rank])
    assert torch.equal(everything[:, 0], torch.arange(1.0, world + 1))


@pytest.mark.parametrize("world", (1, 3))
def test_outputs_may_be_one_buffer_or_hold_the_input(world):
    run_ranks(world, _one_buffer_many_times)


def _many_to_one(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in (*FLOATS, torch.int8, torch.uint8, torch.int32, torch.int64):
        for size in SIZES[:-1]:
            root = (size + 1) % world
            wholes = [numbers(dtype, (world, size), each, size) for each in range(world)]
            name = f"of {size} {dtype}"
            answers = []
            for group in (None, gloo):
                room = [torch.zeros(size, dtype=dtype) for _ in range(world)]
                dist.gather(wholes[rank][0].clone(), room if rank == root else None, root, group)
                mine = torch.zeros(size, dtype=dtype)
                dist.scatter(mine, list(wholes[rank]) if rank == root else None, root, group)
                answers.append((torch.cat(room), mine))
            check_same("gather " + name, answers[0][0], answers[1][0])
            check_same("scatter " + name, answers[0][1], answers[1][1])
            check_same("scatter " + name, answers[0][1], wholes[root][rank])


@pytest.mark.parametrize("world", WORLDS)
def test_gather_and_scatter(world):
    run_ranks(world, _many_to_one)


def _splits(rank, world):
    """The number of rows for each rank; some get none."""
    return [(rank + to) % 3 for to in range(world)]


def _all_to_all(rank, world):
    gloo = dist.new_group(backend="gloo")
    ins = _splits(rank, world)  # symmetric, so sent and received sizes are equal
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8):
        even = numbers(dtype, (2 * world, 5), rank)
        uneven = numbers(dtype, (sum(ins), 5), rank)
        answers = []
        for group in (None, gloo):
            same = torch.zeros_like(even)
            dist.all_to_all_single(same, even, group=group)
            split = torch.zeros_like(uneven)
            dist.all_to_all_single(split, uneven, ins, ins, group=group)
            answers.append((same, split))
        check_same(f"all_to_all_single of {dtype}", answers[0][0], answers[1][0])
        check_same(f"all_to_all_single in parts of {dtype}", answers[0][1], answers[1][1])
        room = [torch.zeros(count, 5, dtype=dtype) for count in ins]
        dist.all_to_all(room, list(uneven.split(ins)))
        check_same(f"all_to_all of {dtype}", torch.cat(room), answers[1][1])


@pytest.mark.parametrize("world", WORLDS)
def test_all_to_all(world):
    run_ranks(world, _all_to_all)


def _objects(rank, world):
    mine = {"rank": rank, "text": "x" * (100 * rank)}
    everyones = [{"rank": each, "text": "x" * (100 * each)} for each in range(world)]
    found = [None] * world
    dist.all_gather_object(found, mine)
    assert found == everyones
    found = [mine, rank]
    dist.broadcast_object_list(found, src=world - 1)
    assert found == [everyones[-1], world - 1]
    found = [None] * world if rank == 0 else None
    dist.gather_object(mine, found, dst=0)
    assert found == (everyones if rank == 0 else None)
    found = [None]
    dist.scatter_object_list(found, everyones if rank == 0 else None, src=0)
    assert found == [mine]
    if world > 1 and rank == 0:
        dist.send_object_list([mine], dst=1)
    if rank == 1:
        found = [None]
        dist.recv_object_list(found, src=0)
        assert found == everyones[:1]


@pytest.mark.parametrize("world", WORLDS)
def test_objects(world):
    run_ranks(world, _objects)


def _barriers(rank, world):
    store = dist.distributed_c10d._get_default_store()
    for turn in range(20):
        store.add(f"came {turn}", 1)
        dist.barrier()
        assert store.add(f"came {turn}", 0) == world


@pytest.mark.parametrize("world", WORLDS)
def test_nobody_leaves_a_barrier_before_all_have_come(world):
    run_ranks(world, _barriers)
