# SPDX-License-Identifier: Apache-2.0
"""Missing switches, ranks that never come, and ranks that die: the other ranks soon get one
exception that names the lost party."""

import datetime
import os
import signal
import time

import pytest
import ranks
import torch
import torch.distributed as dist
from failing import SOON_S, check_words, meet, message_of
from ranks import run_ranks

import infold


def _missing_switch(rank, world, address):
    begun = time.monotonic()
    text = message_of(lambda: dist.all_reduce(torch.ones(10)))
    assert address in text, text
    assert time.monotonic() - begun < SOON_S
    assert address in message_of(lambda: dist.all_reduce(torch.ones(10)))


def test_a_switch_that_is_missing():
    address = f"127.0.0.1:{ranks.free_port()}"
    run_ranks(2, _missing_switch, address, options={"switches": [address]}, timeout_s=600)


def test_one_of_two_switches_that_is_missing(one_switch):
    address = f"127.0.0.1:{ranks.free_port()}"
    run_ranks(
        2,
        _missing_switch,
        address,
        timeout_s=600,
        options={"switches": [one_switch.switches[0], address]},
    )


def _wait_no_longer_than(seconds):
    """The time counts from now, because the time to make a group is not tested."""
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=seconds))


def _one_never_comes(rank, world, has_joined):
    if has_joined:
        dist.all_reduce(torch.ones(1))
    _wait_no_longer_than(2)
    meet(rank, world, "begins")  # on a busy machine, ranks come here seconds apart
    if rank != 1:
        text = message_of(lambda: dist.all_reduce(torch.ones(10)))
        assert "rank 1" in text or "1 of the job's" in text, text
    # Rank 1 is alive all the time.
    meet(rank, world, "gave up")


@pytest.mark.parametrize("has_joined", (False, True), ids=("at_first", "later"))
def test_a_rank_that_never_comes(has_joined, path):
    run_ranks(3, _one_never_comes, has_joined, options=path, timeout_s=1000)


def _one_comes_when_another_has_gone(rank, world):
    """A late rank hears at once which rank was missing, though rank 0 no longer listens."""
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        _wait_no_longer_than(1)
    if rank == 2:
        store.wait(["rank 0 waits no longer"])
    if rank != 1:
        text = message_of(lambda: dist.all_reduce(torch.ones(10)))
        check_words(text, ("missing: rank 1, 2",) + (("rank 0 says",) if rank == 2 else ()))
    if rank == 0:
        store.set("rank 0 waits no longer", "")
    meet(rank, world, "gave up")


def test_a_rank_that_comes_when_another_has_gone(path):
    run_ranks(3, _one_comes_when_another_has_gone, options=path, timeout_s=1000)


def _rank_0_never_comes(rank, world):
    _wait_no_longer_than(2)
    if rank != 0:
        text = message_of(lambda: dist.all_reduce(torch.ones(10)))
        assert "rank 0" in text, text
    meet(rank, world, "gave up")


def test_rank_0_never_comes(path):
    run_ranks(2, _rank_0_never_comes, options=path, timeout_s=1000)


def _error():
    return infold._registration.backend_of().get_error().name


def _one_dies(rank, world, dying):
    """A rank dies in the middle of a call that cannot end without the other ranks."""
    tensor = torch.ones(10)
    dist.all_reduce(tensor)
    assert _error() == "SUCCESS"
    if rank == dying:
        dist.all_reduce(torch.ones(10), async_op=True)
        os._exit(0)
    begun = time.monotonic()
    text = message_of(lambda: [dist.all_reduce(torch.ones(10)) for _ in range(1000)])
    assert f"rank {dying}" in text, text
    assert time.monotonic() - begun < SOON_S
    assert _error() == "COMM_ERROR"
    meet(rank, world - 1, "survived")  # a rank that leaves early would also be a reason to fail


def _check_death(dying, options):
    with pytest.raises(ranks.RankFailed) as failure:
        run_ranks(3, _one_dies, dying, options=options, timeout_s=100)
    # Only the dead rank has not answered.
    assert str(failure.value) == f"rank {dying} of 3:\ndied with exit code 0"


@pytest.mark.parametrize("dying", (1, 2))
def test_a_rank_that_dies(dying, path):
    _check_death(dying, path)


def test_rank_0_dies_at_a_switch(one_switch):
    _check_death(0, one_switch)


class _Watched(dist.Store):
    """A store that calls a function before its process writes its sizes."""

    def __init__(self, store, before):
        super().__init__()
        self._store, self._before = store, before

    def set(self, key, value):
        if "parcels/" in key:
            self._before()
        self._store.set(key, value)

    def get(self, key):
        return self._store.get(key)

    def add(self, key, amount):
        return self._store.add(key, amount)

    def wait(self, keys, timeout=datetime.timedelta(seconds=SOON_S)):
        self._store.wait(keys, timeout)

    def check(self, keys):
        return self._store.check(keys)

    def delete_key(self, key):
        return self._store.delete_key(key)


_SIZES_TIMEOUT_S = 3


def _says_its_sizes_late(rank, world, file, dies):
    """Rank 1 writes its sizes late or never. The delay is what the test is about."""
    store = dist.FileStore(file, world)
    if rank == 1:
        store = _Watched(store, lambda: os._exit(0) if dies else time.sleep(1))
    dist.init_process_group(
        "infold", store=store, rank=rank, world_size=world, timeout=datetime.timedelta(seconds=60)
    )
    _wait_no_longer_than(_SIZES_TIMEOUT_S if dies else 60)
    inputs = [1, 1, 2] if rank == 0 else [1, 1, 1]
    begun = time.monotonic()
    text = message_of(
        lambda: dist.all_to_all_single(torch.ones(3), torch.ones(sum(inputs)), [1, 1, 1], inputs)
    )
    took = time.monotonic() - begun
    if dies:
        check_words(text, ("all_to_all", "rank 1 did not report its sizes in time"))
        assert _SIZES_TIMEOUT_S / 2 < took < SOON_S, took
    else:
        check_words(text, ("all_to_all", "rank 0 sends 2 elements to rank 2", "expects 1"))


def test_a_rank_that_dies_before_it_says_its_sizes(tmp_path):
    with pytest.raises(ranks.RankFailed) as failure:
        run_ranks(3, _says_its_sizes_late, str(tmp_path / "store"), True, backend=None)
    assert str(failure.value) == "rank 1 of 3:\ndied with exit code 0"


def test_a_rank_that_says_its_sizes_late(tmp_path):
    run_ranks(3, _says_its_sizes_late, str(tmp_path / "store"), False, backend=None)


# Section "in the middle of a call of Gloo": one rank dies while the others wait for it or for each
# other.

_WORLD = 4
_DYING = 2
_LONG = 1_000_000  # elements


def _all_to_all(rank):
    del rank
    return dist.all_to_all_single(torch.empty(_LONG), torch.ones(_LONG), async_op=True)


def _gather(rank):
    """The root lives. Ranks that have sent are done, so only their next call fails."""
    rooms = [torch.empty(_LONG) for _ in range(_WORLD)] if rank == 0 else None
    return dist.gather(torch.ones(_LONG), rooms, async_op=True)


def _scatter(rank):
    parts = [torch.ones(_LONG) for _ in range(_WORLD)] if rank == _DYING else None
    return dist.scatter(torch.empty(_LONG), parts, src=_DYING, async_op=True)


def _product(rank):
    del rank
    return dist.all_reduce(torch.ones(_LONG), dist.ReduceOp.PRODUCT, async_op=True)


def _bits(rank):
    del rank
    return dist.all_reduce(torch.ones(_LONG, dtype=torch.int32), dist.ReduceOp.BAND, async_op=True)


def _part_of_a_product(rank):
    del rank
    return dist.reduce_scatter_single(
        torch.empty(_LONG), torch.ones(_WORLD * _LONG), dist.ReduceOp.PRODUCT, async_op=True
    )


def _messages(rank):
    """Rank 0 waits for rank 3, which waits for the dead rank. Rank 1 sends to the dead rank."""
    if rank == _DYING:
        return None
    if rank == 1:
        return dist.isend(torch.ones(_LONG), _DYING)
    return dist.irecv(torch.ones(_LONG), (rank - 1) % _WORLD)


def _messages_from_anybody(rank):
    return None if rank == _DYING else dist.irecv(torch.ones(_LONG))


def _has_no_part(call):
    """Gloo does two calls at a time for a rank. These two never end, because no rank sends. Their
    kind is not paired with the call."""
    delegate = infold._registration.backend_of().delegate
    return [delegate.broadcast(torch.ones(1), 0) for _ in range(2)], call(_DYING)


def _one_dies_in_gloo(rank, world, call, end):
    dist.all_reduce(torch.ones(1))
    store = dist.distributed_c10d._get_default_store()
    work = _has_no_part(call) if rank == _DYING else call(rank)
    dist.all_reduce(torch.ones(1))  # all ranks have begun the call
    store.set(f"begun {rank}", "")
    if rank == _DYING:
        store.wait([f"begun {each}" for each in range(world)])
        end()
    begun = time.monotonic()
    text = message_of(lambda: [work.wait(), dist.barrier()])
    check_words(text, (f"ended because rank {_DYING} is gone", "make new"))
    # All later calls of both kinds also fail.
    for later in (
        lambda: dist.all_reduce(torch.ones(1)),
        lambda: _all_to_all(rank).wait(),
        lambda: dist.send(torch.ones(1), (rank + 1) % world),
    ):
        check_words(message_of(later), ("infold", f"rank {_DYING} is gone"))
    assert time.monotonic() - begun < SOON_S
    meet(rank, world - 1, "survived")
    dist.destroy_process_group()  # does not wait for Gloo
    assert time.monotonic() - begun < 2 * SOON_S


def _kill():
    os.kill(os.getpid(), signal.SIGKILL)


def _exit():
    os._exit(0)


@pytest.mark.parametrize("end", (_kill, _exit), ids=lambda end: end.__name__.strip("_"))
@pytest.mark.parametrize(
    "call",
    (
        _all_to_all,
        _gather,
        _scatter,
        _product,
        _bits,
        _part_of_a_product,
        _messages,
        _messages_from_anybody,
    ),
    ids=lambda call: call.__name__.strip("_"),
)
def test_a_rank_dies_in_what_gloo_does(call, end):
    with pytest.raises(ranks.RankFailed) as failure:
        run_ranks(_WORLD, _one_dies_in_gloo, call, end, timeout_s=1000)
    code = -signal.SIGKILL if end is _kill else 0
    assert str(failure.value) == f"rank {_DYING} of {_WORLD}:\ndied with exit code {code}"


def _one_leaves_in_gloo(rank, world):
    """One rank leaves in good order, as after an exception, so no connection breaks."""
    dist.all_reduce(torch.ones(1))
    if rank == _DYING:
        work = _has_no_part(_all_to_all)
    else:
        work = _all_to_all(rank)
    dist.all_reduce(torch.ones(1))
    if rank == _DYING:
        infold._c.close_all()  # as the interpreter's end does
        os._exit(0)
    text = message_of(work.wait)
    check_words(text, (f"rank {_DYING} left the job", "make new"))
    meet(rank, world - 1, "survived")
    del work


def test_a_rank_leaves_in_what_gloo_does():
    with pytest.raises(ranks.RankFailed) as failure:
        run_ranks(_WORLD, _one_leaves_in_gloo, timeout_s=1000)
    assert str(failure.value) == f"rank {_DYING} of {_WORLD}:\ndied with exit code 0"


def _one_dies_before_any_collective(rank, world):
    """The job begins with the first of these calls, and knows the dead rank."""
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        store.wait(["waiting 1", "waiting 2"])
        os._exit(0)
    work = dist.irecv(torch.ones(10), 0) if rank == 1 else dist.isend(torch.ones(_LONG), 0)
    store.set(f"waiting {rank}", "")
    begun = time.monotonic()
    text = message_of(work.wait)
    call = "recv from rank 0" if rank == 1 else "send to rank 0"
    check_words(
        text, (f"infold: {call}, tag 0: Gloo says: ", "check that rank 0 runs", "make a new one")
    )
    check_words(message_of(lambda: dist.all_reduce(torch.ones(1))), (f"{call}, tag 0 failed",))
    assert time.monotonic() - begun < SOON_S
    meet(rank, world - 1, "survived")


def test_a_rank_dies_in_a_group_that_only_sends():
    with pytest.raises(ranks.RankFailed) as failure:
        run_ranks(3, _one_dies_before_any_collective, timeout_s=1000)
    assert str(failure.value) == "rank 0 of 3:\ndied with exit code 0"
