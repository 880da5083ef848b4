# SPDX-License-Identifier: Apache-2.0
"""Measures the parts of an all_reduce of CUDA tensors, with 2 and 4 ranks on one GPU: the copy to
the host, the sum there, the copy back, and the whole call with the time for which the host is
blocked.
"""

import time

import gpu_job
import torch
import torch.distributed as dist

PIECE_BYTES = 4 << 20  # the size in which python/backend/staging.cc copies
BYTES, BYTES_SMALL = (1 << 20, 25 << 20, 256 << 20), (1 << 20,)
ROUNDS, WARM_UPS = 7, 2


class Tensors:
    """A tensor on the device and one in pinned memory of the host. Both get their first numbers
    again before each measurement, because sums of sums would grow without end."""

    def __init__(self, count, device):
        self._source = torch.randn(count, generator=torch.Generator().manual_seed(1))
        self._source_on_device = self._source.to(device)
        self.on_device = torch.empty(count, device=device)
        begun = time.perf_counter()
        self.on_host = torch.empty(count, pin_memory=device.type == "cuda")
        self.pinning_ms = 1e3 * (time.perf_counter() - begun)

    def renew(self):
        self.on_host.copy_(self._source)
        self.on_device.copy_(self._source_on_device)


def _median_ms(action, tensors, group, device):
    """Returns the median of this rank, of which rank 0 prints its own. All ranks begin together."""
    times = []
    for _ in range(WARM_UPS + ROUNDS):
        tensors.renew()
        dist.barrier(group=group)
        times.append(gpu_job.timed_ms(action, device))
    return gpu_job.median(times[WARM_UPS:])


def _copy(to, source):
    for first in range(0, source.numel(), PIECE_BYTES // 4):
        piece = slice(first, first + PIECE_BYTES // 4)
        to[piece].copy_(source[piece], non_blocking=True)


def _whole(tensors, group, device):
    """Returns medians: of the call, of wait(), and of all until the result is on the device."""
    calls, waits, ends = [], [], []
    for _ in range(WARM_UPS + ROUNDS):
        tensors.renew()
        gpu_job.synchronize(device)
        dist.barrier(group=group)
        begun = time.perf_counter()
        work = dist.all_reduce(tensors.on_device, group=group, async_op=True)
        called = time.perf_counter()
        work.wait()
        waited = time.perf_counter()
        gpu_job.synchronize(device)
        calls.append(1e3 * (called - begun))
        waits.append(1e3 * (waited - called))
        ends.append(1e3 * (time.perf_counter() - begun))
    return [gpu_job.median(each[WARM_UPS:]) for each in (calls, waits, ends)]


def measure(count, groups, size, device):
    """Returns the figures of one size of tensors."""
    tensors = Tensors(count, device)
    on_host, on_device = tensors.on_host, tensors.on_device
    gloo = groups[size, gpu_job.GLOO]
    found = {
        "first_pinning_ms": tensors.pinning_ms,
        "to_host_ms": _median_ms(lambda: _copy(on_host, on_device), tensors, gloo, device),
        "to_device_ms": _median_ms(lambda: _copy(on_device, on_host), tensors, gloo, device),
    }
    for way in gpu_job.WAYS:
        group = groups[size, way]
        call_ms, wait_ms, end_ms = _whole(tensors, group, device)
        found[way] = {
            "sum_on_host_ms": _median_ms(
                lambda g=group: dist.all_reduce(on_host, group=g), tensors, gloo, device
            ),
            "host_in_call_ms": call_ms,
            "host_in_wait_ms": wait_ms,
            "whole_ms": end_ms,
        }
    return found


def body(rank, groups, device, small):
    for size in gpu_job.SIZES:
        for count_bytes in BYTES_SMALL if small else BYTES:
            if rank < size:
                found = measure(count_bytes // 4, groups, size, device)
            if rank == 0:
                show(found, size, count_bytes)


def show(found, size, count_bytes):
    common = {"ranks": size, "bytes": count_bytes}
    copies = {key: value for key, value in found.items() if key not in gpu_job.WAYS}
    rates = {
        name.replace("_ms", "_GB_per_s"): count_bytes / 1e6 / copies[name]
        for name in ("to_host_ms", "to_device_ms")
    }
    gpu_job.show(what="copies", **common, **copies, **rates)
    for way in gpu_job.WAYS:
        gpu_job.show(
            what="all_reduce",
            way=way,
            **common,
            **found[way],
            GB_per_s=count_bytes / 1e6 / found[way]["whole_ms"],
        )


if __name__ == "__main__":
    gpu_job.run(body, gpu_job.parse(__doc__))
