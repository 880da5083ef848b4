# SPDX-License-Identifier: Apache-2.0
"""A call's own timeout holds while the ranks of its group join, even if the group's timeout is
longer. The call has then failed for good, and the group is over."""

import datetime
import time

import pytest
import torch
import torch.distributed as dist
from failing import SOON_S, meet, message_of
from ranks import arrive, run_ranks, wait_for_all
from torch.distributed.distributed_c10d import AllgatherOptions

_SHORT = datetime.timedelta(milliseconds=50)
_LONG = datetime.timedelta(seconds=60)


def _with_timeout(options, **fields):
    options.timeout = _SHORT
    for name, value in fields.items():
        setattr(options, name, value)
    return options


def _ones():
    return torch.ones(4)


_CALLS = {
    "all_reduce": lambda group: group.allreduce([_ones()], _with_timeout(dist.AllreduceOptions())),
    "sparse": lambda group: group.allreduce(
        [_ones().to_sparse_coo()], _with_timeout(dist.AllreduceOptions())
    ),
    "product": lambda group: group.allreduce(
        [_ones()], _with_timeout(dist.AllreduceOptions(), reduceOp=dist.ReduceOp.PRODUCT)
    ),
    "coalesced": lambda group: group.allreduce_coalesced(
        [_ones(), _ones()], _with_timeout(dist.AllreduceCoalescedOptions())
    ),
    "broadcast": lambda group: group.broadcast(
        [_ones()], _with_timeout(dist.BroadcastOptions(), rootRank=0, rootTensor=0)
    ),
    "reduce": lambda group: group.reduce(
        [_ones()], _with_timeout(dist.ReduceOptions(), rootRank=0, rootTensor=0)
    ),
    "all_gather": lambda group: group.allgather(
        [[_ones(), _ones()]], [_ones()], _with_timeout(AllgatherOptions())
    ),
    "all_gather_into": lambda group: group._allgather_base(
        torch.ones(8), _ones(), _with_timeout(AllgatherOptions())
    ),
    "reduce_scatter": lambda group: group.reduce_scatter(
        [_ones()], [[_ones(), _ones()]], _with_timeout(dist.ReduceScatterOptions())
    ),
    "reduce_scatter_of_one": lambda group: group._reduce_scatter_base(
        _ones(), torch.ones(8), _with_timeout(dist.ReduceScatterOptions())
    ),
    "gather": lambda group: group.gather(
        [[_ones(), _ones()]], [_ones()], _with_timeout(dist.GatherOptions(), rootRank=0)
    ),
    "scatter": lambda group: group.scatter(
        [_ones()], [[_ones(), _ones()]], _with_timeout(dist.ScatterOptions(), rootRank=0)
    ),
    "all_to_all": lambda group: group.alltoall_base(
        _ones(), _ones(), [], [], _with_timeout(dist.AllToAllOptions())
    ),
    "barrier": lambda group: group.barrier(_with_timeout(dist.BarrierOptions())),
}


def _backend_of(group):
    """The backend itself, because torch's functions drop some timeouts."""
    return group._get_backend(torch.device("cpu"))


def _alone(rank, world, name):
    group = dist.new_group(timeout=_LONG)
    if rank == 0:
        begun = time.monotonic()
        work = _CALLS[name](_backend_of(group))
        text = message_of(work.wait)
        assert " Timed out waiting 50ms " in text and "still joining" in text, text
        assert work.is_completed() and not work.is_success()
        # The other ranks need a call that this rank has given up.
        assert "Timed out" in message_of(lambda: dist.all_reduce(_ones(), group=group))
        assert 0.04 < time.monotonic() - begun < SOON_S
        arrive("timed out", 1)
    wait_for_all("timed out")
    if rank == 1:
        begun = time.monotonic()
        assert "rank 0" in message_of(lambda: dist.all_reduce(_ones(), group=group))
        assert time.monotonic() - begun < SOON_S
    meet(rank, world, "heard")


@pytest.mark.parametrize("name", _CALLS)
def test_a_first_calls_own_timeout(name):
    run_ranks(2, _alone, name)


def test_a_first_calls_own_timeout_on_every_path(path):
    run_ranks(2, _alone, "all_reduce", options=path)


def _gives_up_beside_another(rank, world):
    """Rank 2 never comes. Rank 1 waits at the join server when rank 0 gives up."""
    group = dist.new_group(timeout=_LONG)
    if rank == 1:
        work = dist.all_reduce(_ones(), group=group, async_op=True)
        arrive("waits", 1)
        begun = time.monotonic()
        text = message_of(work.wait)
        # Two parties report it, and either may be first: rank 0, and the place where the ranks
        # join.
        assert "rank 0" in text or "missing: rank 2" in text, text
        assert time.monotonic() - begun < SOON_S
    elif rank == 0:
        wait_for_all("waits")
        options = dist.AllreduceOptions()
        options.timeout = datetime.timedelta(seconds=2)
        assert "still joining" in message_of(_backend_of(group).allreduce([_ones()], options).wait)
    meet(rank, world, "told")


def test_a_rank_that_gives_up_is_not_waited_for(path):
    run_ranks(3, _gives_up_beside_another, options=path)


def _nobody_waits(rank, world):
    """A future learns of the failure even if nobody waits."""
    group = dist.new_group(timeout=_LONG)
    if rank == 0:
        works = [_CALLS[name](_backend_of(group)) for name in ("barrier", "all_reduce")]
        futures = [work.get_future() for work in works]
        begun = time.monotonic()
        for future in futures:
            assert "Timed out waiting 50ms" in message_of(future.wait)
        assert time.monotonic() - begun < SOON_S
    meet(rank, world, "told")


def test_a_future_is_told_in_time():
    run_ranks(2, _nobody_waits)


def _the_shorter_one(rank, world):
    """Of two waiting calls, the later one has the shorter timeout."""
    group = dist.new_group(timeout=_LONG)
    if rank == 0:
        options = dist.AllreduceOptions()
        options.timeout = _LONG - datetime.timedelta(seconds=1)
        first = group.allreduce([_ones()], options)
        begun = time.monotonic()
        assert "50ms" in message_of(_CALLS["all_reduce"](_backend_of(group)).wait)
        assert "Timed out" in message_of(first.wait)
        assert time.monotonic() - begun < SOON_S
    meet(rank, world, "told")


def test_the_shorter_timeout_counts():
    run_ranks(2, _the_shorter_one)


def _in_time(rank, world):
    """Ranks that have joined in time do not fail later."""
    group = dist.new_group(timeout=_LONG)
    options = dist.AllreduceOptions()
    options.timeout = datetime.timedelta(seconds=SOON_S)
    tensor = _ones()
    group.allreduce([tensor], options).wait()
    assert torch.equal(tensor, world * _ones())
    for _ in range(3):
        dist.all_reduce(tensor, group=group)
    dist.destroy_process_group(group)


def test_a_timeout_that_is_kept(path):
    run_ranks(2, _in_time, options=path)
