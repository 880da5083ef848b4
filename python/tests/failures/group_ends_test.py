# SPDX-License-Identifier: Apache-2.0
"""How groups end: by abort, by shutdown, by destruction, and with the program. Calls in flight then
either finish or fail with a reason, within bounded time."""

import os
import subprocess
import sys
import textwrap
import time

import pytest
import ranks
import torch
import torch.distributed as dist
from failing import SOON_S, message_of
from ranks import ordered, run_ranks

import infold


def _sum(world):
    del world
    return dist.all_reduce(torch.ones(1000), async_op=True)


def _exchange(world):
    return dist.all_to_all_single(torch.zeros(3 * world), torch.ones(3 * world), async_op=True)


def _aborted(rank, world, begin):
    """Rank 2 has not made the calls in which the other ranks wait."""
    dist.all_reduce(torch.ones(1))
    store = dist.distributed_c10d._get_default_store()
    if rank == 2:
        store.wait(["ended 0", "ended 1"])
        return
    works = [begin(world) for _ in range(3)]
    futures = [work.get_future() for work in works[:2]]
    store.set(f"made {rank}", "")
    store.wait(["made 0", "made 1"])
    begun = time.monotonic()
    if rank == 1:
        dist.group.WORLD.abort()
    for work in works:
        assert "infold" in message_of(work.wait)
        assert work.is_completed() and not work.is_success()
        assert isinstance(work.exception(), Exception)
    for future in futures:
        assert "infold" in message_of(future.wait)
    for later in (_sum, _exchange):
        assert "infold" in message_of(lambda later=later: later(world).wait())
    assert time.monotonic() - begun < SOON_S
    dist.group.WORLD.abort()
    store.set(f"ended {rank}", "")


@pytest.mark.parametrize("begin", (_sum, _exchange), ids=("infolds", "gloos"))
def test_an_abort_ends_what_is_pending_everywhere(begin, path):
    run_ranks(3, _aborted, begin, options=path, timeout_s=100)


def _aborted_in_gloo(rank, world):
    """All ranks have begun the call, but rank 2 takes no part in it (lost_ranks_test.py)."""
    dist.all_reduce(torch.ones(1))
    backend = infold._registration.backend_of()
    held = [backend.delegate.broadcast(torch.ones(1), 0) for _ in range(2)] if rank == 2 else []
    works = [_exchange(world) for _ in range(3)]
    future = works[1].get_future()
    dist.all_reduce(torch.ones(1))
    begun = time.monotonic()
    dist.group.WORLD.abort()
    for work in works:
        assert "infold" in message_of(work.wait)
        assert work.is_completed() and not work.is_success()
    assert "infold" in message_of(future.wait)
    dist.destroy_process_group()  # which waits for Gloo's threads
    assert time.monotonic() - begun < SOON_S
    del held


def test_an_abort_ends_what_gloo_has_begun(path):
    run_ranks(3, _aborted_in_gloo, options=path, timeout_s=1000)


def _aborted_while_joining(rank, world):
    if rank == 0:
        work = dist.all_reduce(torch.ones(10), async_op=True)
        begun = time.monotonic()
        dist.group.WORLD.abort()
        assert "abort" in message_of(work.wait)
        assert time.monotonic() - begun < SOON_S
    ordered(rank, 0, "created")


def test_an_abort_ends_joining(path):
    run_ranks(2, _aborted_while_joining, options=path, timeout_s=100)


def _shut_down_twice(rank, world):
    dist.all_reduce(torch.ones(1))
    group = dist.group.WORLD
    backend = infold._registration.backend_of()
    for _ in range(2):
        backend.shutdown()
    assert backend.get_error().name == "SUCCESS"
    assert "infold" in message_of(lambda: dist.all_reduce(torch.ones(1)))
    for _ in range(2):
        backend.abort()
    group.shutdown()


def test_a_group_may_be_shut_down_twice(path):
    run_ranks(2, _shut_down_twice, options=path)


def _destroyed_with_pending(rank, world):
    dist.all_reduce(torch.ones(1))  # nobody waits for ranks that have not joined
    tensors = [torch.ones(100_000) for _ in range(10)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    products = [torch.full((100_000,), 2.0) for _ in range(3)]
    delegated = [
        dist.all_reduce(product, dist.ReduceOp.PRODUCT, async_op=True) for product in products
    ]
    dist.destroy_process_group()
    for work, tensor in zip(works, tensors, strict=True):
        work.wait()
        assert torch.equal(tensor, torch.full((100_000,), float(world)))
    for work, product in zip(delegated, products, strict=True):
        work.wait()
        assert torch.equal(product, torch.full((100_000,), 2.0**world))


def test_a_group_ends_after_what_is_pending(path):
    run_ranks(3, _destroyed_with_pending, options=path)


def _unused(rank, world):
    group = dist.new_group()
    dist.destroy_process_group(group)
    if rank == 0:
        dist.all_reduce(torch.ones(10), async_op=True)  # the others never come


def test_a_group_that_ranks_never_joined_ends(path):
    begun = time.monotonic()
    run_ranks(2, _unused, options=path, timeout_s=100)
    assert time.monotonic() - begun < 4 * SOON_S


_LEAVES_EARLY = """
    import os, torch, torch.distributed as dist, infold
    dist.init_process_group("infold", pg_options=infold.Options({options}))
    for _ in range(20):
        tensor = torch.ones(1000)
        dist.all_reduce(tensor)
    work = dist.all_reduce(tensor, async_op=True)
    future = work.get_future()
    if dist.get_rank() != 0:
        work.wait()
    print("done", flush=True)
"""


@pytest.mark.parametrize(("options", "detail"), (("", "DETAIL"), ("shared_memory='off'", "OFF")))
def test_programs_may_end_without_destroying_the_group(options, detail):
    environment = dict(
        os.environ,
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(ranks.free_port()),
        WORLD_SIZE="3",
        TORCH_DISTRIBUTED_DEBUG=detail,
    )
    program = textwrap.dedent(_LEAVES_EARLY).format(options=options)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env=environment | {"RANK": str(i)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(3)
    ]
    for process in started:
        out, err = process.communicate(timeout=ranks.PATIENCE_S)
        assert process.returncode == 0 and out.strip() == "done", err
        assert "infold" not in err, err
