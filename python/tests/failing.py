# SPDX-License-Identifier: Apache-2.0
"""What tests of failures have in common."""

import time

import torch.distributed as dist

# Of what must not take a deadline's time; generous, because machines are busy.
SOON_S = 20


def message_of(call, name=""):
    """Of what it raises; it must."""
    try:
        call()
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        return str(error)
    raise AssertionError(f"{name} has not raised")


def check_words(text, words):
    for word in words:
        assert word in text, f"no '{word}' in: {text}"


def meet(rank, world, where):
    """Without the group, which is broken."""
    del rank
    store = dist.distributed_c10d._get_default_store()
    store.add(where, 1)
    while store.add(where, 0) < world:
        time.sleep(0.01)
