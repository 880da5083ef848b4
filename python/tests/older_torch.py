# SPDX-License-Identifier: Apache-2.0
"""Lets the tests use names of torch 2.13 with torch 2.11, which does not have them."""

import torch.distributed as dist


def _barrier_of(barrier):
    def barrier_with_timeout(group=None, timeout=None, **others):
        if timeout is None:
            return barrier(group, **others)
        options = dist.BarrierOptions()
        options.timeout = timeout
        return (group or dist.group.WORLD).barrier(options).wait()

    return barrier_with_timeout


def _exception(work):
    """torch 2.11 cannot turn the exception into a Python exception."""
    return RuntimeError("not known") if work.is_completed() and not work.is_success() else None


def adapt():
    if hasattr(dist, "all_gather_single"):
        return
    dist.all_gather_single = dist.all_gather_into_tensor
    dist.reduce_scatter_single = dist.reduce_scatter_tensor
    dist.barrier = _barrier_of(dist.barrier)
    dist.Work.exception = _exception
