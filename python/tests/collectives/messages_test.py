# SPDX-License-Identifier: Apache-2.0
"""Messages whose two ends disagree: both ends raise an error with the rank, the field and the right
value. Also messages that arrive in another order."""

import time

import pytest
import torch
import torch.distributed as dist
from expected import check_same
from failing import SOON_S, check_words, meet, message_of
from ranks import run_ranks

from infold import _registration

_LONG = 300_000  # elements, which take several pieces
_SENT = torch.ones(10)
_DIFFERENT = (
    (_SENT, torch.ones(9), "same size"),
    (_SENT, torch.ones(11), "same size"),
    (_SENT, torch.ones(10, dtype=torch.int32), "same type"),
    (_SENT, torch.ones(11, dtype=torch.int64), "same size and type"),
    (_SENT, torch.ones(_LONG), "same size"),
    (torch.ones(_LONG), _SENT, "same size"),
    (torch.ones(_LONG), torch.ones(_LONG - 1), "same size"),
    (torch.ones(0), _SENT, "same size"),
)
_IDS = [f"{a.numel()}_{str(a.dtype)[6:]}-{b.numel()}_{str(b.dtype)[6:]}" for a, b, _ in _DIFFERENT]


def _check_difference(text, sent, expected, field):
    check_words(
        text,
        (
            f"rank 0 sent {sent.numel()} elements",
            f"rank 1 expects {expected.numel()} elements",
            f"both must pass the {field};",
            "the group goes on",
        ),
    )


def _exchange(rank, turn):
    """Short and long messages both ways, on the tag of the disagreement."""
    for size in (10, _LONG):
        room = torch.zeros(size)
        works = [dist.irecv(room, 1 - rank, tag=5)]
        works.append(dist.isend(torch.full((size,), 10.0 * turn + rank), 1 - rank, tag=5))
        for work in works:
            work.wait()
        check_same("after a difference", room, torch.full((size,), 10.0 * turn + 1 - rank))


def _plain(rank, sent, room):
    return message_of(lambda: dist.send(sent, 1, tag=5) if rank == 0 else dist.recv(room, 0, tag=5))


def _asynchronous(rank, sent, room):
    work = dist.isend(sent, 1, tag=5) if rank == 0 else dist.irecv(room, 0, tag=5)
    text = message_of(work.wait)
    assert message_of(work.wait) == text and work.is_completed() and not work.is_success()
    return text


def _batched(rank, sent, room):
    """The message goes next to one in the other direction, which fits."""
    other, found = 1 - rank, torch.zeros(3)
    operations = [
        dist.P2POp(dist.isend, sent, other, tag=5)
        if rank == 0
        else dist.P2POp(dist.irecv, room, other, tag=5)
    ]
    operations += [
        dist.P2POp(dist.isend, torch.ones(3), other, tag=6),
        dist.P2POp(dist.irecv, found, other, tag=6),
    ]
    works = dist.batch_isend_irecv(operations)
    text = message_of(works[0].wait)
    for work in works[1:]:
        work.wait()
    check_same("beside a difference", found, torch.ones(3))
    return text


def _from_anybody(rank, sent, room):
    return message_of(lambda: dist.send(sent, 1, tag=5) if rank == 0 else dist.recv(room, tag=5))


def _differing(rank, world, call, difference):
    sent, expected, field = difference
    for turn in range(2):
        room = torch.zeros_like(expected)
        begun = time.monotonic()
        _check_difference(call(rank, sent, room), *difference)
        assert time.monotonic() - begun < SOON_S
        assert not room.any()
        _exchange(rank, turn)
    tensor = torch.ones(10)
    dist.all_reduce(tensor)
    check_same("a sum after a difference", tensor, torch.full((10,), float(world)))


@pytest.mark.parametrize("difference", _DIFFERENT, ids=_IDS)
def test_messages_that_do_not_fit(difference):
    run_ranks(2, _differing, _plain, difference, timeout_s=100)


@pytest.mark.parametrize(
    "call",
    (_asynchronous, _batched, _from_anybody),
    ids=("asynchronous", "batched", "from_anybody"),
)
@pytest.mark.parametrize("which", (0, 4, 5), ids=lambda which: _IDS[which])
def test_messages_that_do_not_fit_on_every_way(call, which):
    run_ranks(2, _differing, call, _DIFFERENT[which], timeout_s=100)


def _tagged(rank, world, sent):
    """Nobody receives the message, so each end names the rank and tag that it waited for."""
    tag = 1 + rank
    work = dist.isend(sent, 1, tag=tag) if rank == 0 else dist.irecv(torch.zeros(10), 0, tag=tag)
    begun = time.monotonic()
    text = message_of(work.wait)
    assert time.monotonic() - begun < SOON_S
    call = "send to rank 1, tag 1" if rank == 0 else "recv from rank 0, tag 2"
    check_words(text, (f"infold: {call}: ", "make"))
    assert "infold" in message_of(lambda: dist.send(sent, 1 - rank))
    meet(rank, world, "gave up")


@pytest.mark.parametrize("elements", (10, _LONG))
def test_messages_with_different_tags(elements):
    run_ranks(2, _tagged, torch.ones(elements), timeout_s=2)


def _unanswered(rank, world):
    """A rank receives from any rank, but no rank sends."""
    if rank == 0:
        text = message_of(lambda: dist.recv(torch.zeros(10), tag=3))
        check_words(text, ("infold: recv from any rank, tag 3: ", "check that", "sends it"))
    meet(rank, world, "gave up")


def test_nobody_sends():
    run_ranks(2, _unanswered, timeout_s=2)


_TAG_MAX = (1 << 29) - 1


def _tags(rank, world):
    for tag in (-1, _TAG_MAX + 1):
        text = message_of(lambda tag=tag: dist.send(torch.ones(1), 1 - rank, tag=tag))
        assert "tag" in text, text
    check_words(text, (f"0 to {_TAG_MAX}",))
    room = torch.zeros(1)
    work = dist.isend(torch.ones(1), 1 - rank, tag=_TAG_MAX)
    dist.recv(room, 1 - rank, tag=_TAG_MAX)
    work.wait()
    check_same("with the largest tag", room, torch.ones(1))


def test_tags_have_limits():
    run_ranks(2, _tags)


def _anybody_before_all_send(rank, world):
    """All ranks post their receives before any rank sends or waits: several ranks send long
    messages with one tag."""
    rooms = [torch.zeros(_LONG) for _ in range(2 * (world - 1))]
    works = [dist.irecv(room, tag=1) for room in rooms]
    for turn in range(2):
        for other in range(world):
            if other != rank:
                dist.send(torch.full((_LONG,), 100.0 * turn + rank), other, tag=1)
    turns = {each: 0 for each in range(world) if each != rank}
    for work, room in zip(works, rooms, strict=True):
        work.wait()
        sender = work._source_rank()
        check_same("from anybody", room, torch.full((_LONG,), 100.0 * turns[sender] + sender))
        turns[sender] += 1
    assert set(turns.values()) == {2}


@pytest.mark.parametrize("world", (2, 3))
def test_long_messages_from_anybody(world):
    run_ranks(world, _anybody_before_all_send, timeout_s=100)


_delegates = []


def _keep_delegate(_):
    """Keeps the Gloo backend that carries the group's messages when the group is made."""
    begin = _registration.begin

    def keeping(*arguments):
        store, delegate = begin(*arguments)
        _delegates.append(delegate)
        return store, delegate

    _registration.begin = keeping


def _promising(rank, world):
    """A rank does not make room for an impossible message, and the group continues."""
    if rank == 1:
        magic, float32, channels = 0x696E666F6C64206D, 6, 4
        head = torch.tensor([magic, 1 << 58, float32, 1 << 60]).view(torch.uint8)
        _delegates[0].send([head], 0, 5 * channels).wait()
    else:
        check_words(
            message_of(lambda: dist.recv(torch.zeros(10), 1, tag=5)),
            ("what came from rank 1, tag 5", "belongs to another call"),
        )
    dist.barrier()


def test_a_message_that_is_longer_than_any():
    run_ranks(2, _promising, timeout_s=100, settle=_keep_delegate)


def _given_up(rank, world):
    """Receives that nobody waits for do not keep a group from ending."""
    works = [dist.irecv(torch.zeros(10), tag=tag) for tag in range(3)]
    if rank == 0:
        works.append(dist.irecv(torch.zeros(10), 1))
    dist.barrier()
    del works[1]
    dist.destroy_process_group()


def test_receives_that_nobody_waits_for():
    run_ranks(2, _given_up, timeout_s=1000)
