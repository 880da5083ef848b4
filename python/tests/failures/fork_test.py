# SPDX-License-Identifier: Apache-2.0
"""Children that a rank forks, such as the workers of a DataLoader. They cannot use the group, and
the ranks go on as if there were no child."""

import os
import signal
import subprocess
import sys
import textwrap
import traceback

import ranks
import torch
import torch.distributed as dist
from failing import SOON_S, check_words, message_of
from ranks import run_ranks

import infold


def _calls(world):
    """A call of each kind, with 100 where the ranks themselves pass 1."""
    tensor = torch.full((world,), 100.0)
    each = [torch.empty(1) for _ in range(world)]
    return {
        "all_reduce": lambda: dist.all_reduce(tensor),
        "barrier": dist.barrier,
        "broadcast": lambda: dist.broadcast(tensor, 0),
        "all_gather": lambda: dist.all_gather(each, tensor[:1]),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(tensor[:1], tensor),
        "a sum of Gloo's": lambda: dist.all_reduce(tensor, dist.ReduceOp.PRODUCT),
        "all_to_all": lambda: dist.all_to_all_single(torch.empty(world), tensor),
        "send": lambda: dist.send(tensor, 1),
        "recv": lambda: dist.recv(tensor, 1),
        "compressed": lambda: infold._registration.backend_of().average_compressed(
            infold.compress.hook("topk")._compressor, ["weight"], [tensor]
        ),
    }


def _forked(body):
    """Runs the body in a child, which a hang would kill. Returns the child's exit code."""
    child = os.fork()
    if child == 0:
        signal.alarm(3 * SOON_S)
        try:
            body()
        except BaseException:  # noqa: BLE001  it ends as an exit code
            traceback.print_exc()
            os._exit(1)
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _parent(rank, world):
    store = dist.distributed_c10d._get_default_store()
    tensor, product, received = torch.ones(1000), torch.full((world,), 2.0), torch.empty(1)
    dist.all_reduce(tensor)
    dist.all_reduce(product, dist.ReduceOp.PRODUCT)
    if rank == 0:
        works = [dist.all_reduce(tensor, async_op=True)]
        works.append(dist.all_reduce(product, dist.ReduceOp.PRODUCT, async_op=True))
        works.append(dist.irecv(received))  # from any rank
        words = (f"forked from process {os.getpid()}", "spawn")

        def child():
            for name, call in _calls(world).items():
                check_words(message_of(call, name), words)
            for work in works:
                check_words(message_of(work.wait), words)
            assert works[0].is_completed() and not works[0].is_success()
            assert (dist.get_rank(), dist.get_world_size()) == (0, world)
            assert infold.statistics() is None
            works.clear()
            dist.destroy_process_group()
            infold._c.close_all()

        assert _forked(child) == 7
        store.set("forked", "")
    else:
        store.wait(["forked"])
        works = [dist.all_reduce(tensor, async_op=True)]
        works.append(dist.all_reduce(product, dist.ReduceOp.PRODUCT, async_op=True))
        if rank == 1:
            works.append(dist.isend(torch.ones(1), 0))
    for work in works:
        work.wait()
    assert torch.equal(tensor, torch.full((1000,), float(world**2)))
    assert torch.equal(product, torch.full((world,), 2.0 ** (world**2)))
    assert rank != 0 or received.item() == 1
    for _ in range(10):
        tensor = torch.ones(1000)
        dist.all_reduce(tensor)
        assert torch.equal(tensor, torch.full((1000,), float(world)))


def test_a_forked_childs_calls_are_refused_and_change_no_sum(path):
    run_ranks(2, _parent, options=path)


def _alone(rank, world):
    del rank
    dist.all_reduce(torch.ones(1))
    assert _forked(lambda: check_words(message_of(_calls(world)["all_reduce"]), ("forked",))) == 7
    dist.all_reduce(torch.ones(1))


def test_a_group_of_one_rank_refuses_children_too():
    run_ranks(1, _alone)


_PROGRAM = """
    import os, sys, torch, torch.distributed as dist
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset):
        def __init__(self, sums):
            self.sums = sums
        def __len__(self):
            return 4
        def __getitem__(self, index):
            row = torch.full((1,), 100.0 + dist.get_rank())
            if self.sums:
                dist.all_reduce(row)
            return row

    dist.init_process_group("infold")
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    # This child comes before the loaders, because it would end their workers when it exits.
    work = dist.all_reduce(tensor, async_op=True)
    child = os.fork()
    if child == 0:
        sys.exit(7)  # after exit handlers and destructors
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    work.wait()
    assert len(list(DataLoader(Rows(False), num_workers=2))) == 4
    try:
        list(DataLoader(Rows(True), num_workers=2))
    except RuntimeError as error:
        print("refused" if "was forked from process" in str(error) else error)
    dist.all_reduce(tensor)
    print(tensor.item())
"""


def test_workers_of_a_loader_and_children_that_exit_leave_the_job_alone():
    environment = dict(
        os.environ,
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(ranks.free_port()),
        WORLD_SIZE="2",
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(_PROGRAM)],
            env=environment | {"RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for process in started:
        out, err = process.communicate(timeout=ranks.PATIENCE_S)
        assert (process.returncode, out.split()) == (0, ["7", "refused", "8.0"]), err
