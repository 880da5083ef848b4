# SPDX-License-Identifier: Apache-2.0
"""send and recv: messages of any type and length, matched by their tags and their order."""

import pytest
import torch
import torch.distributed as dist
from expected import TYPES, WORLDS, check_same, numbers
from ranks import run_ranks


def _point_to_point(rank, world):
    right, left = (rank + 1) % world, (rank - 1) % world
    for dtype in TYPES:
        mine, wanted = numbers(dtype, (1000,), rank), numbers(dtype, (1000,), left)
        found = torch.zeros_like(mine)
        sent = dist.isend(mine, right)
        dist.recv(found, left)
        sent.wait()
        check_same(f"recv of {dtype}", found, wanted)
    _send_with_tags(rank, left, right)
    if rank == 0:
        room = torch.zeros(3, dtype=torch.int64)
        senders = set()
        for _ in range(world - 1):
            sender = dist.recv(room)
            assert room.tolist() == [sender] * 3
            senders.add(sender)
        assert senders == set(range(1, world))
    else:
        dist.send(torch.full((3,), rank), 0)


def _send_with_tags(rank, left, right):
    """Messages are paired by their tags, and by their order if the tags are equal."""
    works = [
        dist.isend(torch.tensor([rank, tag, turn]), right, tag=tag)
        for tag in (1, 2)
        for turn in (0, 1)
    ]
    for tag in (2, 1):
        for turn in (0, 1):
            room = torch.zeros(3, dtype=torch.int64)
            dist.irecv(room, left, tag=tag).wait()
            assert room.tolist() == [left, tag, turn]
    for work in works:
        work.wait()


@pytest.mark.parametrize("world", WORLDS[1:])
def test_send_and_recv(world):
    run_ranks(world, _point_to_point)


def _long_messages(rank, world):
    """Messages of several pieces, two at once, received from one rank and from any rank."""
    sizes = (0, 65_528, 65_529, 300_000, 1_000_003)
    if rank != 0:
        works = [dist.isend(numbers(torch.float32, (size,), rank, size), 0) for size in sizes]
        for work in works:
            work.wait()
        return
    rooms = [torch.zeros(size) for size in sizes]
    works = [dist.irecv(room, 1) for room in rooms[:-1]]
    for work in reversed(works):
        work.wait()
    sender = dist.recv(rooms[-1])
    for room, size in zip(rooms, sizes, strict=True):
        check_same(f"{size} elements", room, numbers(torch.float32, (size,), sender, size))


def test_long_messages():
    run_ranks(2, _long_messages)


def _both_receive_before_they_send(rank, world):
    """No rank waits for a message before it has sent its own."""
    rooms = [torch.zeros(300_000) for _ in range(2)]
    works = [dist.irecv(room, 1 - rank) for room in rooms]
    for turn in range(2):
        dist.send(torch.full((300_000,), 10.0 * turn + rank), 1 - rank)
    for turn, (work, room) in enumerate(zip(works, rooms, strict=True)):
        work.wait()
        assert bool((room == 10.0 * turn + 1 - rank).all())


def test_receives_come_before_sends():
    run_ranks(2, _both_receive_before_they_send)


def _batched(rank, world):
    right, left = (rank + 1) % world, (rank - 1) % world
    room = [torch.zeros(100, dtype=torch.int64) for _ in range(2)]
    operations = [
        dist.P2POp(dist.irecv, room[0], left),
        dist.P2POp(dist.irecv, room[1], left),
        dist.P2POp(dist.isend, numbers(torch.int64, (100,), rank, 1), right),
        dist.P2POp(dist.isend, numbers(torch.int64, (100,), rank, 2), right),
    ]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    for seed in (1, 2):
        check_same("batch", room[seed - 1], numbers(torch.int64, (100,), left, seed))


@pytest.mark.parametrize("world", (2, 5))
def test_batches_of_send_and_recv(world):
    run_ranks(world, _batched)
