# SPDX-License-Identifier: Apache-2.0
"""What an asynchronous call gives back, and how groups end: as PyTorch's own backends do it."""

import datetime
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import warnings

import pytest
import ranks
import torch
import torch.distributed as dist
from failing import SOON_S, message_of
from ranks import arrive, run_ranks, wait_for_all
from torch.nn.parallel import DistributedDataParallel

import infold


def _ordered(rank, last, before):
    """Lets `last` go on when every other rank has said that it has done what comes before."""
    if rank == last:
        wait_for_all(before)
    else:
        arrive(before, dist.get_world_size() - 1)


def _answers(rank, world):
    tensor = torch.full((1000,), float(rank))
    if rank == 0:
        _ordered(rank, 0, "begun")
    work = dist.all_reduce(tensor, async_op=True)
    if rank != 0:
        assert not work.is_completed() and not work.is_success()
        _ordered(rank, 0, "begun")
    while not work.is_completed():  # without wait(), which others use
        os.sched_yield()
    assert work.is_success() and work.exception() is None
    assert torch.equal(tensor, torch.full((1000,), float(sum(range(world)))))
    assert [each.data_ptr() for each in work.result()] == [tensor.data_ptr()]
    assert work.wait() and work.wait(datetime.timedelta(seconds=1))


def test_state_and_result(path):
    run_ranks(3, _answers, options=path)


def _results(rank, world):
    """Of each collective its outputs, in the future as well."""
    tensor, whole = torch.ones(6), torch.empty(6 * world)
    listed = [torch.empty(6) for _ in range(world)]
    part = torch.empty(2)
    for outputs, call in (
        ([tensor], lambda: dist.all_reduce(tensor, async_op=True)),
        ([tensor], lambda: dist.broadcast(tensor, 0, async_op=True)),
        ([tensor], lambda: dist.reduce(tensor, 0, async_op=True)),
        (listed, lambda: dist.all_gather(listed, tensor, async_op=True)),
        ([whole], lambda: dist.all_gather_single(whole, tensor, async_op=True)),
        ([part], lambda: dist.reduce_scatter_single(part, tensor, async_op=True)),
    ):
        work = call()
        values = work.get_future().wait()
        assert [each.data_ptr() for each in values] == [each.data_ptr() for each in outputs]
        work.wait()
        assert [each.data_ptr() for each in work.result()] == [
            each.data_ptr() for each in outputs]


def test_results_are_the_outputs():
    run_ranks(3, _results)


def _chains(rank, world):
    tensor = torch.ones(1000)
    work = dist.all_reduce(tensor, async_op=True)
    called = threading.Event()
    future = work.get_future()
    future.add_done_callback(lambda _: called.set())
    half = future.then(lambda done: done.value()[0] / 2)
    quarter = half.then(lambda done: done.value() / 2)
    assert torch.equal(quarter.wait(), torch.full((1000,), world / 4))
    assert called.wait(SOON_S)
    assert future.done() and isinstance(future.value(), list)
    assert work.is_completed() and work.is_success()
    # Of what has ended already, at once.
    assert work.get_future().then(lambda done: len(done.value())).wait() == 1
    everything = torch.futures.collect_all(
        [dist.all_reduce(torch.ones(10), async_op=True).get_future() for _ in range(20)])
    assert [float(each.value()[0][0]) for each in everything.wait()] == [float(world)] * 20


def test_futures_run_what_follows(path):
    run_ranks(3, _chains, options=path)


def _callbacks_that_call(rank, world):
    """A callback may call the group, as hooks of DDP do."""
    def again(done):
        return dist.all_reduce(done.value()[0], async_op=True).get_future()

    work = dist.all_reduce(torch.ones(10), async_op=True)
    second = work.get_future().then(again).wait().wait()
    assert float(second[0][0]) == world * world


def test_a_callback_may_make_a_call():
    run_ranks(2, _callbacks_that_call)


def _impatient(rank, world):
    dist.all_reduce(torch.ones(1))  # all have joined
    tensor = torch.ones(1000)
    if rank == 0:
        _ordered(rank, 0, "impatient")
        dist.all_reduce(tensor)
    else:
        work = dist.all_reduce(tensor, async_op=True)
        begun = time.monotonic()
        text = message_of(lambda: work.wait(datetime.timedelta(milliseconds=100)))
        assert time.monotonic() - begun < SOON_S
        assert "all_reduce" in text and " Timed out " in text and not work.is_completed()
        _ordered(rank, 0, "impatient")
        work.wait()  # it went on
    assert torch.equal(tensor, torch.full((1000,), float(world)))


def test_a_wait_ends_in_time_and_the_call_goes_on(path):
    run_ranks(3, _impatient, options=path)


def _impatient_at_first(rank, world):
    """The same while others have not even joined."""
    tensor = torch.ones(10)
    if rank == 0:
        _ordered(rank, 0, "first")
        dist.all_reduce(tensor)
    else:
        work = dist.all_reduce(tensor, async_op=True)
        assert "joining" in message_of(lambda: work.wait(datetime.timedelta(milliseconds=50)))
        _ordered(rank, 0, "first")
        work.wait()
    assert float(tensor[0]) == world


def test_a_wait_ends_in_time_while_ranks_join(path):
    run_ranks(3, _impatient_at_first, options=path)


def _dropped(rank, world):
    tensors = [torch.ones(50_000) for _ in range(20)]
    for tensor in tensors:
        dist.all_reduce(tensor, async_op=True)
    dist.barrier()
    for tensor in tensors:
        assert torch.equal(tensor, torch.full((50_000,), float(world)))
    # And their tensors too, with nobody to see the result.
    for _ in range(20):
        dist.all_reduce(torch.ones(50_000), async_op=True)
    dist.barrier()


def test_works_may_be_dropped_before_a_barrier(path):
    run_ranks(3, _dropped, options=path)


def _all_kinds_before_a_barrier(rank, world):
    big = torch.ones(2_000_000)
    strided = torch.ones(1000, 2)[:, 0]
    listed = [torch.zeros(1000) for _ in range(world)]
    exchanged, product = torch.zeros(100_000 * world), torch.full((1000,), 2.0)
    works = [
        dist.all_reduce(big, async_op=True),
        dist.all_reduce(strided, async_op=True),
        dist.all_gather(listed, torch.ones(1000), async_op=True),
        dist.all_to_all_single(exchanged, torch.ones(100_000 * world), async_op=True),
        dist.all_reduce(product, dist.ReduceOp.PRODUCT, async_op=True),
    ]
    dist.barrier()
    assert all(work.is_completed() for work in works)
    assert float(big[-1]) == world and float(strided[-1]) == world
    assert float(listed[-1][-1]) == 1 and float(exchanged[-1]) == 1
    assert float(product[-1]) == 2.0**world


def test_a_barrier_ends_after_all_that_came_before(path):
    run_ranks(3, _all_kinds_before_a_barrier, options=path)


def _sum(world):
    del world
    return dist.all_reduce(torch.ones(1000), async_op=True)


def _exchange(world):
    return dist.all_to_all_single(torch.zeros(3 * world), torch.ones(3 * world), async_op=True)


def _aborted(rank, world, begin):
    """Rank 2 has not made the calls that the others wait in."""
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
    """All have begun the call, and rank 2 has no part in it (lost_ranks_test.py)."""
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
    _ordered(rank, 0, "created")


def test_an_abort_ends_joining(path):
    run_ranks(2, _aborted_while_joining, options=path, timeout_s=100)


def _delegated_answers(rank, world):
    """Of what Gloo does, the same: state, result, future, and it begins though nobody waits."""
    tensor = torch.full((1000,), 2.0)
    if rank == 0:
        _ordered(rank, 0, "begun")
    work = dist.all_reduce(tensor, dist.ReduceOp.PRODUCT, async_op=True)
    if rank != 0:
        assert not work.is_completed() and not work.is_success()
        text = message_of(lambda: work.wait(datetime.timedelta(milliseconds=50)))
        assert "rank 0" in text or "joining" in text, text
        _ordered(rank, 0, "begun")
    while not work.is_completed():
        os.sched_yield()
    assert work.is_success() and work.exception() is None and work.wait()
    assert torch.equal(tensor, torch.full((1000,), 2.0**world))
    transposed = torch.full((8, 9), 2.0).t()
    work = dist.all_reduce(transposed, dist.ReduceOp.PRODUCT, async_op=True)
    half = work.get_future().then(lambda done: done.value()[0] / 2)
    assert torch.equal(half.wait(), torch.full((9, 8), 2.0**(world - 1)))
    assert torch.equal(transposed, torch.full((9, 8), 2.0**world))
    # Of what has ended already, at once.
    assert work.get_future().done() and work.is_completed()
    assert [each.data_ptr() for each in work.get_future().value()] == [transposed.data_ptr()]


def test_state_and_result_of_what_gloo_does(path):
    run_ranks(3, _delegated_answers, options=path)


def _shut_down_twice(rank, world):
    dist.all_reduce(torch.ones(1))
    group = dist.group.WORLD
    backend = infold._registration.backend_of()
    for _ in range(2):
        backend.shutdown()
    assert "infold" in message_of(lambda: dist.all_reduce(torch.ones(1)))
    for _ in range(2):
        backend.abort()
    group.shutdown()


def test_a_group_may_be_shut_down_twice(path):
    run_ranks(2, _shut_down_twice, options=path)


def _destroyed_with_pending(rank, world):
    dist.all_reduce(torch.ones(1))  # ranks that have not joined are not waited for
    tensors = [torch.ones(100_000) for _ in range(10)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    products = [torch.full((100_000,), 2.0) for _ in range(3)]
    delegated = [dist.all_reduce(product, dist.ReduceOp.PRODUCT, async_op=True)
                 for product in products]
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


def _sequences(rank, world):
    backend = infold._registration.backend_of()
    before = backend._get_sequence_number_for_group()
    for _ in range(3):
        dist.all_reduce(torch.ones(1), async_op=True)
    dist.barrier()
    assert backend._get_sequence_number_for_group() == before + 4


def test_calls_are_numbered():
    run_ranks(2, _sequences)


def _timeout_of_a_call(rank, world):
    """Of one call only: the group's own is longer."""
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
    """torch's own function goes on to serve torch's own backends."""
    group = dist.new_group(backend="gloo")
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=7), group)
    assert group._get_backend(torch.device("cpu")).options._timeout.total_seconds() == 7


def test_other_backends_timeouts_can_be_changed():
    run_ranks(2, _other_timeout)


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
    environment = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(ranks.free_port()),
                       WORLD_SIZE="3", TORCH_DISTRIBUTED_DEBUG=detail)
    program = textwrap.dedent(_LEAVES_EARLY).format(options=options)
    started = [subprocess.Popen([sys.executable, "-c", program], env=environment | {"RANK": str(i)},
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for i in range(3)]
    for process in started:
        out, err = process.communicate(timeout=ranks.PATIENCE_S)
        assert process.returncode == 0 and out.strip() == "done", err
        assert "infold" not in err, err


def _in_detail(rank, world, folder):
    """PyTorch compares the calls of ranks by itself then, and wraps the group."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.init_process_group("infold", init_method=f"file://{folder}/store", rank=rank,
                            world_size=world)
    tensor = torch.ones(10)
    dist.all_reduce(tensor)
    assert float(tensor[0]) == world
    work = dist.all_reduce(tensor, async_op=True)
    work.wait()
    whole = torch.empty(10 * world)
    dist.all_gather_single(whole, tensor)
    dist.barrier()
    objects = [None] * world
    dist.all_gather_object(objects, rank)
    assert objects == list(range(world))
    assert infold.statistics()["calls"] > 0  # of what is inside of torch's wrapper
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    model.register_comm_hook(None, infold.hooks.wire("bfp16"))
    model(torch.ones(2, 3)).sum().backward()
    text = message_of(lambda: dist.all_reduce(torch.ones(10 + rank)))
    assert "mismatch" in text and "ALLREDUCE" in text, text


def test_torch_may_check_calls_itself():
    with tempfile.TemporaryDirectory() as folder:
        run_ranks(2, _in_detail, folder, backend=None)
