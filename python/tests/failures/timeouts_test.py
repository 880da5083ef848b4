# SPDX-License-Identifier: Apache-2.0
"""Timeouts of a wait, after which the call is still in flight; of a call; and of a group, which can
be changed."""

import datetime
import time
import warnings

import pytest
import torch
import torch.distributed as dist
from failing import SOON_S, message_of
from ranks import ordered, run_ranks


def _impatient(rank, world):
    dist.all_reduce(torch.ones(1))  # all have joined
    tensor = torch.ones(1000)
    if rank == 0:
        ordered(rank, 0, "impatient")
        dist.all_reduce(tensor)
    else:
        work = dist.all_reduce(tensor, async_op=True)
        begun = time.monotonic()
        text = message_of(lambda: work.wait(datetime.timedelta(milliseconds=100)))
        assert time.monotonic() - begun < SOON_S
        assert "all_reduce" in text and " Timed out " in text and not work.is_completed()
        ordered(rank, 0, "impatient")
        work.wait()  # the call was still in flight
    assert torch.equal(tensor, torch.full((1000,), float(world)))


def test_a_wait_ends_in_time_and_the_call_goes_on(path):
    run_ranks(3, _impatient, options=path)


def _impatient_at_first(rank, world):
    """The same while other ranks have not joined."""
    tensor = torch.ones(10)
    if rank == 0:
        ordered(rank, 0, "first")
        dist.all_reduce(tensor)
    else:
        work = dist.all_reduce(tensor, async_op=True)
        assert "joining" in message_of(lambda: work.wait(datetime.timedelta(milliseconds=50)))
        ordered(rank, 0, "first")
        work.wait()
    assert float(tensor[0]) == world


def test_a_wait_ends_in_time_while_ranks_join(path):
    run_ranks(3, _impatient_at_first, options=path)


def _timeout_of_a_call(rank, world):
    """One call has a timeout that is shorter than the group's."""
    dist.all_reduce(torch.ones(1))
    if rank == 0:
        begun = time.monotonic()
        text = message_of(lambda: dist.barrier(timeout=datetime.timedelta(seconds=1)))
        assert " Timed out " in text  # torch's words, as its own tests look for them
        assert "rank 1" in text and time.monotonic() - begun < SOON_S, text
        dist.distributed_c10d._get_default_store().set("failed", "")
    else:
        dist.distributed_c10d._get_default_store().wait(["failed"])


def test_a_call_has_its_own_timeout(path):
    run_ranks(2, _timeout_of_a_call, options=path, timeout_s=100)


def _changed_timeout(rank, world, operation, by_function):
    dist.all_reduce(torch.ones(1))
    timeout = datetime.timedelta(seconds=1)
    if by_function:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            dist.distributed_c10d._set_pg_timeout(timeout)
    else:
        dist.group.WORLD.set_timeout(timeout)
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        begun = time.monotonic()
        text = message_of(lambda: dist.all_reduce(torch.ones(1), operation))
        assert "rank 1" in text and time.monotonic() - begun < SOON_S, text
        store.set("failed", "")
    else:
        store.wait(["failed"])


@pytest.mark.parametrize("by_function", (False, True), ids=("by_method", "by_function"))
@pytest.mark.parametrize("operation", ("SUM", "PRODUCT"))
def test_a_groups_timeout_can_be_changed(operation, by_function):
    run_ranks(2, _changed_timeout, getattr(dist.ReduceOp, operation), by_function, timeout_s=100)


def _other_timeout(rank, world):
    """torch's own function still works for torch's own backends."""
    group = dist.new_group(backend="gloo")
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=7), group)
    assert group._get_backend(torch.device("cpu")).options._timeout.total_seconds() == 7


def test_other_backends_timeouts_can_be_changed():
    run_ranks(2, _other_timeout)
