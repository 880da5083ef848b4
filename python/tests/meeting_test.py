# SPDX-License-Identifier: Apache-2.0
"""How ranks meet, even if other programs write to the store, or if a rank lacks a resource that it
needs."""

import resource
import threading
import time

import pytest
import torch
import torch.distributed as dist
from failing import SOON_S, meet, message_of
from ranks import arrive, run_ranks, wait_for_all

import infold

# Texts under the key of rank 0's job name, and the errors that the other ranks get.
_WRITTEN = {
    "nothing": (b"", "0 bytes, which name no job"),
    "a_line's_end": (b"\n", "infold"),
    "no_address": (b"job", "infold"),
    "no_reason": (b"!", "rank 0 says"),
    "a_reason_that_is_no_text": (b"!\xff\xfe\n\x00", "rank 0 says: ????"),
    "a_name_that_is_no_text": (b"\xff\xfe\n127.0.0.1:1", "infold"),
    "no_address_but_words": (b"job\nnot an address", "infold"),
    "another_address": (b"job\n127.0.0.1:1", "infold"),
    "far_too_much": (b"x" * 1_000_000, "1000000 bytes, which name no job"),
}


def _written_by_a_stranger(rank, world, text, words):
    stores = []
    own_store = infold._registration._own_store
    infold._registration._own_store = lambda *words: stores.append(own_store(*words)) or stores[-1]
    group = dist.new_group()
    if rank == 0:
        stores[-1].set("meeting", text)
        arrive("written", 1)
    wait_for_all("written")
    if rank == 1:
        begun = time.monotonic()
        said = message_of(lambda: dist.all_reduce(torch.ones(10), group=group))
        assert words in said and len(said) < 10_000, said
        assert time.monotonic() - begun < SOON_S
        # The interpreter lives, and later calls work.
        assert "infold" in message_of(lambda: dist.all_reduce(torch.ones(10), group=group))
    meet(rank, world, "heard")


@pytest.mark.parametrize("written", _WRITTEN)
def test_the_store_says_nonsense(written):
    run_ranks(2, _written_by_a_stranger, *_WRITTEN[written], timeout_s=3)


def _address_space():
    with open("/proc/self/statm", encoding="ascii") as pages:
        return int(pages.read().split()[0]) * resource.getpagesize()


def _use_up_stacks():
    """A forked process can give the stacks of its parent's threads to new threads."""
    for _ in range(16):
        threading.Thread(target=threading.Event().wait, daemon=True).start()


def _without_a_thread(rank, world, operation):
    """There is no memory for a thread's stack. The call fails at once, and only at its rank. The
    next call works as if the failed one had never been made."""
    group = dist.new_group()
    tensor = torch.full((10,), 2.0)
    _use_up_stacks()
    if rank == 0:
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_address_space() + (1 << 20), most))
        try:
            said = message_of(lambda: dist.all_reduce(tensor, operation, group))
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        assert "Resource temporarily unavailable" in said, said
    for value in (2.0, 3.0):
        tensor.fill_(value)
        dist.all_reduce(tensor, operation, group)
        expected = value * world if operation == dist.ReduceOp.SUM else value**world
        assert torch.equal(tensor, torch.full((10,), expected)), tensor


@pytest.mark.parametrize(
    "operation", (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT), ids=("infolds", "gloos")
)
def test_a_rank_without_a_thread_to_spare(operation):
    run_ranks(2, _without_a_thread, operation)
