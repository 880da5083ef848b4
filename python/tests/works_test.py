# SPDX-License-Identifier: Apache-2.0
"""What an asynchronous call returns, which is the same as with PyTorch's own backends: state,
result and future."""

import datetime
import os
import tempfile
import threading

import torch
import torch.distributed as dist
from failing import SOON_S, message_of
from ranks import ordered, run_ranks
from torch.nn.parallel import DistributedDataParallel

import infold


def _answers(rank, world):
    tensor = torch.full((1000,), float(rank))
    if rank == 0:
        ordered(rank, 0, "begun")
    work = dist.all_reduce(tensor, async_op=True)
    if rank != 0:
        assert not work.is_completed() and not work.is_success()
        ordered(rank, 0, "begun")
    while not work.is_completed():  # without wait(), which other tests use
        os.sched_yield()
    assert work.is_success() and work.exception() is None
    assert torch.equal(tensor, torch.full((1000,), float(sum(range(world)))))
    assert [each.data_ptr() for each in work.result()] == [tensor.data_ptr()]
    assert work.wait() and work.wait(datetime.timedelta(seconds=1))


def test_state_and_result(path):
    run_ranks(3, _answers, options=path)


def _delegated_answers(rank, world):
    """The same for calls that go to Gloo. Such a call begins even if nobody waits."""
    tensor = torch.full((1000,), 2.0)
    if rank == 0:
        ordered(rank, 0, "begun")
    work = dist.all_reduce(tensor, dist.ReduceOp.PRODUCT, async_op=True)
    if rank != 0:
        assert not work.is_completed() and not work.is_success()
        text = message_of(lambda: work.wait(datetime.timedelta(milliseconds=50)))
        assert "rank 0" in text or "joining" in text, text
        ordered(rank, 0, "begun")
    while not work.is_completed():
        os.sched_yield()
    assert work.is_success() and work.exception() is None and work.wait()
    assert torch.equal(tensor, torch.full((1000,), 2.0**world))
    transposed = torch.full((8, 9), 2.0).t()
    work = dist.all_reduce(transposed, dist.ReduceOp.PRODUCT, async_op=True)
    half = work.get_future().then(lambda done: done.value()[0] / 2)
    assert torch.equal(half.wait(), torch.full((9, 8), 2.0 ** (world - 1)))
    assert torch.equal(transposed, torch.full((9, 8), 2.0**world))
    # The future of a call that has ended is done at once.
    assert work.get_future().done() and work.is_completed()
    assert [each.data_ptr() for each in work.get_future().value()] == [transposed.data_ptr()]


def test_state_and_result_of_what_gloo_does(path):
    run_ranks(3, _delegated_answers, options=path)


def _results(rank, world):
    """The result and the future of each collective have its outputs."""
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
        assert [each.data_ptr() for each in work.result()] == [each.data_ptr() for each in outputs]


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
    # The future of a call that has ended is done at once.
    assert work.get_future().then(lambda done: len(done.value())).wait() == 1
    everything = torch.futures.collect_all(
        [dist.all_reduce(torch.ones(10), async_op=True).get_future() for _ in range(20)]
    )
    assert [float(each.value()[0][0]) for each in everything.wait()] == [float(world)] * 20


def test_futures_run_what_follows(path):
    run_ranks(3, _chains, options=path)


def _callbacks_that_call(rank, world):
    """A callback may make calls of the group, as hooks of DDP do."""

    def again(done):
        return dist.all_reduce(done.value()[0], async_op=True).get_future()

    work = dist.all_reduce(torch.ones(10), async_op=True)
    second = work.get_future().then(again).wait().wait()
    assert float(second[0][0]) == world * world


def test_a_callback_may_make_a_call():
    run_ranks(2, _callbacks_that_call)


def _dropped(rank, world):
    tensors = [torch.ones(50_000) for _ in range(20)]
    for tensor in tensors:
        dist.all_reduce(tensor, async_op=True)
    dist.barrier()
    for tensor in tensors:
        assert torch.equal(tensor, torch.full((50_000,), float(world)))
    # The tensors may also be dropped if nobody reads the result.
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


def _sequences(rank, world):
    backend = infold._registration.backend_of()
    before = backend._get_sequence_number_for_group()
    for _ in range(3):
        dist.all_reduce(torch.ones(1), async_op=True)
    dist.barrier()
    assert backend._get_sequence_number_for_group() == before + 4


def test_calls_are_numbered():
    run_ranks(2, _sequences)


def _in_detail(rank, world, folder):
    """In this mode, PyTorch itself compares the ranks' calls and wraps the group."""
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.init_process_group(
        "infold", init_method=f"file://{folder}/store", rank=rank, world_size=world
    )
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
    assert infold.statistics()["calls"] > 0  # of the group inside torch's wrapper
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    model.register_comm_hook(None, infold.hooks.wire("bfp16"))
    model(torch.ones(2, 3)).sum().backward()
    text = message_of(lambda: dist.all_reduce(torch.ones(10 + rank)))
    assert "mismatch" in text and "ALLREDUCE" in text, text


def test_torch_may_check_calls_itself():
    with tempfile.TemporaryDirectory() as folder:
        run_ranks(2, _in_detail, folder, backend=None)
