# SPDX-License-Identifier: Apache-2.0
"""Groups of some ranks, and many groups at once. None waits for another or leaks anything."""

import ctypes
import datetime
import itertools
import os
import statistics
import tempfile
import threading

import pytest
import ranks
import torch
import torch.distributed as dist
from failing import message_of
from ranks import run_ranks
from torch.distributed._shard import sharded_tensor
from torch.distributed._shard.sharding_spec import ChunkShardingSpec
from torch.distributed.device_mesh import init_device_mesh

import infold

_M_ARENA_MAX = -8  # from malloc.h
_PR_SET_THP_DISABLE = 41


def _sum(group=None, value=1.0, size=1000):
    tensor = torch.full((size,), float(value))
    dist.all_reduce(tensor, group=group)
    assert bool((tensor == tensor[0]).all())
    return float(tensor[0])


def _subsets(rank, world):
    subsets = ([0], [1, 3], [0, 2, 4], [4, 1], list(range(world)))
    groups = [dist.new_group(subset) for subset in subsets]
    for subset, group in zip(subsets, groups, strict=True):
        if rank in subset:
            assert _sum(group, rank) == sum(subset)
            _move_in_subset(rank, subset, group)
    assert _sum(value=rank) == sum(range(world))


def _move_in_subset(rank, subset, group):
    """Roots and sources are given by their global rank."""
    tensor = torch.tensor([rank])
    dist.broadcast(tensor, subset[-1], group=group)
    assert tensor.item() == subset[-1]
    objects = [None] * len(subset)
    dist.all_gather_object(objects, rank, group=group)
    assert objects == sorted(subset)
    total = torch.tensor([rank])
    dist.reduce(total, subset[0], group=group)
    assert rank != subset[0] or total.item() == sum(subset)
    dist.barrier(group)


def test_parts_of_the_ranks():
    run_ranks(5, _subsets)


def test_parts_of_the_ranks_on_a_switch(one_switch):
    run_ranks(5, _subsets, options=one_switch)


def _own_options(rank, world):
    """The rounding reveals bfp8, whose seven bits are too few for these numbers."""
    values = torch.linspace(1, 2, 32)
    errors = {}
    for wire in ("bfp8", "bfp32"):
        group = dist.new_group(pg_options=infold.Options(wire=wire))
        tensor = values.clone()
        dist.all_reduce(tensor, group=group)
        errors[wire] = float((tensor - world * values).abs().max())
    assert errors["bfp32"] < 1e-6 < 1e-3 < errors["bfp8"]
    group = dist.new_group(pg_options=infold.Options(shared_memory="off"))
    assert _sum(group) == world
    assert infold.statistics(group)["contributions_on_network"] == world
    assert _sum() == world
    assert infold.statistics()["contributions_on_network"] == 0


def test_options_of_a_group_are_its_own():
    run_ranks(2, _own_options)


def _many(rank, world, count):
    groups = [dist.new_group() for _ in range(count)]
    tensors = [torch.full((1000,), float(i)) for i in range(len(groups))]
    works = [
        dist.all_reduce(tensor, group=group, async_op=True)
        for tensor, group in zip(tensors, groups, strict=True)
    ]
    for work in reversed(works):
        work.wait()
    for i, tensor in enumerate(tensors):
        assert torch.equal(tensor, torch.full((1000,), float(i * world)))
    for group in groups:
        dist.destroy_process_group(group)


def test_many_groups_at_once():
    run_ranks(2, _many, 32)


def test_many_groups_at_one_switch():
    """The switch has default options, so that later groups get fewer slots."""
    with ranks.running_switch() as switch:
        run_ranks(2, _many, 24, options={"switches": [switch], "shared_memory": "off"})


def _split(rank, world):
    """Uses the group's method, because torch's function of that name needs an accelerator."""
    whole = dist.group.WORLD
    assert whole._get_backend(torch.device("cpu")).supports_splitting
    timeout = datetime.timedelta(seconds=20)
    for part, turn in itertools.product(([0, 2], [1, 3]), range(2)):
        if rank not in part:
            continue
        group = whole.split_group(part, timeout=timeout, group_name=f"{part} {turn}")
        assert (group.rank(), group.size()) == (part.index(rank), 2)
        for operation, total in ((dist.ReduceOp.SUM, 4.0), (dist.ReduceOp.PRODUCT, 4.0)):
            options = dist.AllreduceOptions()
            options.reduceOp = operation
            tensor = torch.full((100,), 2.0)
            group.allreduce([tensor], options).wait()
            assert bool((tensor == total).all())
        group.shutdown()
    assert _sum(value=rank) == sum(range(world))


def test_groups_can_be_split(path):
    run_ranks(4, _split, options=path)


def _after_an_abort(rank, world):
    """Calls of the aborted group say so. New groups work, including a new default group."""
    group = dist.new_group()
    assert _sum(group) == world
    group.abort()
    for operation in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT):
        text = message_of(
            lambda operation=operation: dist.all_reduce(torch.ones(1), operation, group=group)
        )
        assert "abort" in text or "left" in text, text
    again = dist.new_group()
    assert _sum(again, rank) == sum(range(world)) and _sum(value=rank) == sum(range(world))
    dist.barrier(again)


def test_there_is_life_after_an_abort(path):
    run_ranks(3, _after_an_abort, options=path)


def _by_device(rank, world, backends):
    """There is one backend for all devices or one for each, and each backend ends once."""
    assert _sum(value=rank) == sum(range(world))
    dist.barrier()
    part = dist.new_group([0, 1], backend=backends)
    if rank < 2:
        assert _sum(part, rank) == 1
        dist.destroy_process_group(part)
    group = dist.group.WORLD
    assert group._get_backend(torch.device("cpu")).name() == "infold"
    dist.destroy_process_group()
    group.shutdown()


@pytest.mark.parametrize("backends", ("cpu:infold,cuda:infold", "cpu:infold,cuda:gloo"))
def test_backends_named_by_device(backends):
    run_ranks(3, _by_device, backends, backend=backends)


def _alone(rank, world):
    group = [dist.new_group([each]) for each in range(world)][rank]
    tensor = torch.arange(10.0)
    for call in (
        lambda: dist.all_reduce(tensor, dist.ReduceOp.AVG, group),
        lambda: dist.broadcast(tensor, rank, group),
        lambda: dist.barrier(group),
        lambda: dist.all_gather_single(tensor.clone(), tensor, group),
    ):
        call()
    work = dist.all_reduce(tensor, group=group, async_op=True)
    assert work.is_completed() and work.is_success()
    assert work.get_future().value()[0] is tensor or torch.equal(
        work.get_future().value()[0], tensor
    )
    assert torch.equal(tensor, torch.arange(10.0))
    assert infold.statistics(group) is None  # no job has been joined


def test_groups_of_one_need_no_network():
    run_ranks(1, _alone)
    run_ranks(3, _alone, options={"switches": ["127.0.0.1:1"]})


def _crossed(rank, world):
    """Each rank's first call waits for another rank's second call."""
    first, second = dist.new_group(), dist.new_group()
    for size in (10, 300_000):
        tensors = {group: torch.ones(size) for group in (first, second)}
        order = (first, second) if rank % 2 == 0 else (second, first)
        works = [dist.all_reduce(tensors[group], group=group, async_op=True) for group in order]
        for work in works:
            work.wait()
        for tensor in tensors.values():
            assert torch.equal(tensor, torch.full((size,), float(world)))


def _stalled(rank, world):
    """A late call of one rank does not delay other groups."""
    stalled, lively = dist.new_group(), dist.new_group()
    tensor = torch.ones(1000)
    work = None if rank == 0 else dist.all_reduce(tensor, group=stalled, async_op=True)
    for turn in range(20):
        assert _sum(lively, turn) == turn * world
    if rank == 0:
        work = dist.all_reduce(tensor, group=stalled, async_op=True)
    work.wait()
    assert torch.equal(tensor, torch.full((1000,), float(world)))


@pytest.mark.parametrize("body", (_crossed, _stalled))
def test_groups_do_not_wait_for_each_other(body, path):
    run_ranks(3, body, options=path)


def _from_threads(rank, world):
    """A thread for each group, without any order between them."""
    groups = [dist.new_group() for _ in range(4)]
    failures = []

    def work(group, number):
        try:
            for turn in range(25):
                assert _sum(group, turn + number) == (turn + number) * world
        except BaseException as error:  # noqa: BLE001  the test reports it
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(group, number)) for number, group in enumerate(groups)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_a_thread_for_each_group(one_switch):
    run_ranks(3, _from_threads)
    run_ranks(3, _from_threads, options=one_switch)


def _mesh(rank, world):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicas", "shards"))
    assert _sum(mesh.get_group("replicas"), rank) == rank % 2 * 2 + 2
    assert _sum(mesh.get_group("shards"), rank) == (1 if rank < 2 else 5)
    for name in ("replicas", "shards"):
        backend = mesh.get_group(name)._get_backend(torch.device("cpu"))
        assert backend.name() == "infold"
    return infold.statistics(mesh.get_group("shards"))["contributions_on_network"]


def test_device_mesh(path):
    assert run_ranks(4, _mesh, options=path) == [2] * 4


def _belongings():
    """Threads, open files and sockets, and kilobytes of used memory. Pages of libraries do not
    count, because the kernel may map more of them at any time."""
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/status", encoding="ascii") as status:
        kilobytes = next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), kilobytes


def _again_and_again(rank, world, folder, options):
    # All threads use one heap: heaps of their own would keep unused memory, which is not a leak.
    ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    # Huge pages are off, because the kernel fills them with memory that nobody uses.
    assert ctypes.CDLL(None).prctl(_PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0
    seen = []
    for life in range(50):
        dist.init_process_group(
            "infold",
            init_method=f"file://{folder}/{life}",
            rank=rank,
            world_size=world,
            pg_options=options,
        )
        alone = [dist.new_group([each]) for each in range(world)][rank]
        assert _sum(value=life) == life * world and _sum(alone, rank) == rank
        product = torch.full((1000,), 2.0)  # by Gloo
        dist.all_reduce(product, dist.ReduceOp.PRODUCT)
        assert float(product[0]) == 2.0**world
        works = [dist.all_reduce(torch.ones(1000), async_op=True) for _ in range(3)]
        works[-1].get_future().wait()
        del works, alone
        dist.destroy_process_group()
        seen.append(_belongings())
    return seen


def _check_no_growth(options):
    """What a library keeps after its first use is not a leak. Threads and files of the last ten
    lives are compared with those of the second ten. A leak of memory grows in every ten lives,
    while allocators grow at times, and on a busy machine late: 150 kB would be 15 kB a life."""
    with tempfile.TemporaryDirectory() as folder:
        seen = run_ranks(2, _again_and_again, folder, options, backend=None)
    for of_rank in seen:
        early = [max(each) for each in zip(*of_rank[10:20], strict=True)]
        late = [min(each) for each in zip(*of_rank[-10:], strict=True)]
        assert late[0] <= early[0], f"threads: {[each[0] for each in of_rank]}"
        assert late[1] <= early[1], f"files: {[each[1] for each in of_rank]}"
        kilobytes = [each[2] for each in of_rank]
        tens = [statistics.median(kilobytes[i : i + 10]) for i in range(10, 50, 10)]
        growth = [after - before for before, after in itertools.pairwise(tens)]
        assert min(growth) < 150, f"kilobytes: {kilobytes}"


def test_fifty_lives_leave_nothing_on_the_ranks():
    _check_no_growth(None)


def test_fifty_lives_leave_nothing_with_a_switch(one_switch):
    _check_no_growth(one_switch)


def _gathers_shards(rank, world):
    spec = ChunkShardingSpec(dim=0, placements=[f"rank:{each}/cpu" for each in range(world)])
    tensor = sharded_tensor.full(spec, (2 * world, 3), 7.0)
    whole = torch.zeros(2 * world, 3) if rank == 0 else None
    tensor.gather(0, whole)
    assert rank or whole.eq(7).all()


def test_sharded_tensors_are_gathered_where_the_group_is():
    """ShardedTensor asks torch for the devices of the group's backend, and prefers another device
    to the CPU if there is one."""
    run_ranks(2, _gathers_shards)
