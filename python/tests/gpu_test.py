# SPDX-License-Identifier: Apache-2.0
"""Tensors on a GPU: a collective comes after the kernels that its caller's stream holds, and
kernels after wait() find its results. Memory is kept as long as copies need it, backward overlaps
with the network, and all results equal those of the same tensors on the CPU.

Several ranks share a GPU. They are spawned and not forked, because CUDA requires it.
"""

import contextlib
import datetime
import os
import tempfile

import models
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

import infold

if not torch.cuda.is_available():
    pytest.skip("no GPU here: torch.cuda.is_available() is False", allow_module_level=True)

_ORDERS = 1000
# Clock cycles of a kernel that does nothing: some 0.5 ms, longer than a host needs for two calls.
_DELAY = 1_000_000


def _enter(rank, world, store, options, body, arguments, answers):
    torch.set_num_threads(1)
    torch.cuda.set_device(rank % torch.cuda.device_count())
    dist.init_process_group(
        "infold",
        init_method=f"file://{store}",
        rank=rank,
        world_size=world,
        pg_options=options,
        timeout=datetime.timedelta(seconds=60),
    )
    answers[rank] = body(rank, world, *arguments)
    torch.cuda.synchronize()
    dist.destroy_process_group()


def _run(world, body, *arguments, options=None):
    """Returns the answers of body(rank, world, *arguments), or raises a rank's traceback."""
    with tempfile.TemporaryDirectory() as folder, multiprocessing.Manager() as manager:
        answers = manager.dict()
        multiprocessing.spawn(
            _enter,
            nprocs=world,
            args=(world, os.path.join(folder, "store"), options, body, arguments, answers),
        )
        return [answers[rank] for rank in range(world)]


def _device():
    return torch.device("cuda", torch.cuda.current_device())


def _order(rank, world, times, gives_future):
    """The producer is late, on its own stream. The consumer runs right after wait()."""
    random = torch.Generator().manual_seed(1)
    side = torch.cuda.Stream()
    wrong = torch.zeros((), dtype=torch.int64, device=_device())
    side.wait_stream(torch.cuda.current_stream())
    for i in range(times):
        elements = int(torch.randint(1, 1 << 18, (), generator=random))
        with torch.cuda.stream(side):
            tensor = torch.zeros(elements, device=_device())
            torch.cuda._sleep(_DELAY)
            tensor.fill_(rank + i)
            work = dist.all_reduce(tensor, async_op=True)
            if gives_future:
                tensor = work.get_future().wait()[0]
            else:
                work.wait()
            wrong += (tensor != sum(range(world)) + world * i).any()
            tensor.fill_(-1)  # a late result would show in the next round's memory
    side.synchronize()
    return wrong.item()


@pytest.mark.parametrize("gives_future", [False, True], ids=["wait", "future"])
def test_order_of_streams(gives_future):
    assert _run(2, _order, _ORDERS, gives_future) == [0, 0]


def test_order_of_streams_on_every_path(path):
    assert _run(2, _order, _ORDERS // 10, False, options=path) == [0, 0]


def _waiting_elsewhere(rank, world):
    """wait() makes the stream of its caller wait, whichever stream that is."""
    producer, consumer = torch.cuda.Stream(), torch.cuda.Stream()
    for i in range(50):
        with torch.cuda.stream(producer):
            torch.cuda._sleep(_DELAY)
            tensor = torch.full((100_000,), float(i), device=_device())
            work = dist.all_reduce(tensor, async_op=True)
        with torch.cuda.stream(consumer):
            work.wait()
            doubled = tensor * 2
        tensor.record_stream(consumer)
        consumer.synchronize()
        assert torch.equal(doubled, torch.full_like(doubled, 2.0 * world * i))
        assert work.is_completed()


def test_another_stream_may_wait():
    _run(2, _waiting_elsewhere)


def _lists_after_conversions(rank, world):
    """A kernel first converts each tensor of a list. No tensor may be sent before its kernel has
    run."""
    for i in range(50):
        torch.cuda._sleep(_DELAY)
        short = [
            torch.full((50_000,), rank + i + each, dtype=torch.int16, device=_device())
            for each in range(4)
        ]
        dist.all_reduce_coalesced(short)
        for each, tensor in enumerate(short):
            wanted = sum(range(world)) + world * (i + each)
            assert torch.equal(tensor, torch.full_like(tensor, wanted))
        columns = torch.full((64, 64), float(rank + i), device=_device())[:, ::2]
        dist.all_reduce(columns)
        assert torch.equal(columns, torch.full_like(columns, sum(range(world)) + world * i))


def test_conversions_come_before_copies():
    _run(2, _lists_after_conversions)


def _freeing(rank, world):
    """The program drops the tensor, so that its memory could be reused at once."""
    works, kept = [], []
    for i in range(100):
        torch.cuda._sleep(_DELAY)
        tensor = torch.full((200_000,), float(i), device=_device())
        works.append(dist.all_reduce(tensor, async_op=True))
        kept.append(tensor[:1])  # neither this nor the work is the memory's last owner
        if i % 2:
            kept.pop()
        del tensor
        torch.full((200_000,), -1.0, device=_device())
    del works
    dist.barrier()
    torch.cuda.synchronize()
    found = [int(each.item()) for each in kept]
    # If the program keeps nothing, other tensors must not change.
    others = [torch.full((200_000,), float(i), device=_device()) for i in range(20)]
    for _ in range(20):
        dist.all_reduce(torch.ones(200_000, device=_device()), async_op=True)
    dist.barrier()
    torch.cuda.synchronize()
    return found, all(bool((each == i).all()) for i, each in enumerate(others))


def test_tensors_freed_right_after_the_call():
    for found, others_stayed in _run(2, _freeing):
        assert found == [2 * i for i in range(0, 100, 2)]
        assert others_stayed


_TYPES = [
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float64,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def _input(rank, type, elements):
    random = torch.Generator().manual_seed(100 + rank)
    if type == torch.bool:
        return torch.rand(elements, generator=random) < 0.5
    if type.is_floating_point or type.is_complex:
        return torch.randn(elements, generator=random).to(type)
    return torch.randint(0, 20, (elements,), generator=random).to(type)


# Gloo, which makes the calls that the network cannot sum, does not have these types.
_NOT_GLOO = (torch.int16, torch.complex64)


def _operations(type):
    operations = [dist.ReduceOp.SUM]
    if type.is_floating_point:
        operations += [dist.ReduceOp.AVG, dist._make_nccl_premul_sum(0.25)]
    if not type.is_complex:
        operations += [dist.ReduceOp.MIN, dist.ReduceOp.MAX]
    if type not in _NOT_GLOO and type != torch.bool:
        operations.append(dist.ReduceOp.PRODUCT)
    return operations


def _collectives(rank, world, type, elements, device):
    """All results by name, on the CPU."""

    def fresh(count=elements):
        return _input(rank, type, count).to(device)

    def empty(count=elements):
        return torch.zeros(count, dtype=type, device=device)

    results = {}
    for number, operation in enumerate(_operations(type)):
        results[f"all_reduce {number}"] = tensor = fresh()
        dist.all_reduce(tensor, operation)
        results[f"reduce_scatter {number}"] = part = empty()
        dist.reduce_scatter_tensor(part, fresh(world * elements), operation)
    tensor = fresh()
    dist.reduce(tensor, 1)
    results["reduce"] = tensor if rank == 1 else empty()  # its contents are not specified elsewhere
    results["broadcast"] = tensor = fresh()
    dist.broadcast(tensor, 1)
    results["all_gather_into_tensor"] = whole = empty(world * elements)
    dist.all_gather_into_tensor(whole, fresh())
    parts = [empty() for _ in range(world)]
    dist.all_gather(parts, fresh())
    results["all_gather"] = torch.cat(parts)
    if type not in _NOT_GLOO:
        results |= _delegated(rank, world, fresh, empty)
    return {name: tensor.cpu() for name, tensor in results.items()}


def _delegated(rank, world, fresh, empty):
    results = {}
    elements = len(fresh())
    results["all_to_all"] = whole = empty(world * elements)
    dist.all_to_all_single(whole, fresh(world * elements))
    parts = [empty() for _ in range(world)] if rank == 0 else None
    dist.gather(fresh(), parts, 0)
    results["gather"] = torch.cat(parts) if parts else empty()
    results["scatter"] = tensor = empty()
    dist.scatter(tensor, list(fresh(world * elements).chunk(world)) if rank == 0 else None, 0)
    results["sent"] = tensor = empty()
    works = [dist.isend(fresh(), (rank + 1) % world), dist.irecv(tensor, (rank - 1) % world)]
    for work in works:
        work.wait()
    return results


def _compared(rank, world, elements):
    different = []
    for type in _TYPES:
        on_cpu = _collectives(rank, world, type, elements, "cpu")
        on_gpu = _collectives(rank, world, type, elements, _device())
        different += [
            f"{name} of {type}"
            for name, result in on_cpu.items()
            if not torch.equal(result, on_gpu[name])
        ]
    return different


# One element, an odd number, and more than one piece of 4 MiB.
@pytest.mark.parametrize("elements", [1, 1001, (4 << 20) // 4 + 17])
def test_collectives_give_what_they_give_on_the_cpu(elements):
    assert _run(2, _compared, elements) == [[], []]


def _sparse(rank, world):
    """Sums equal those on the CPU, are coalesced, and stay on the GPU. MAX raises as well."""
    results = []
    for device in ("cpu", _device()):
        indices = torch.tensor([[rank, 5, 5, 900]], device=device)
        values = _input(rank, torch.float32, 4 * 16).view(4, 16).to(device)
        tensor = torch.sparse_coo_tensor(indices, values, (1000, 16))
        dist.all_reduce(tensor)
        assert tensor.is_coalesced() and tensor.device.type == torch.device(device).type
        results.append((tensor.indices().tolist(), tensor.values().tolist()))
    message = ""
    try:
        dist.all_reduce(tensor, dist.ReduceOp.MAX)
    except RuntimeError as error:
        message = str(error)
    return results[0] == results[1], "to_dense()" in message


def test_sparse_tensors():
    assert _run(2, _sparse) == [(True, True)] * 2


def _requiring_gradients(rank, world):
    """A collective takes a parameter itself, outside of no_grad(), as on the CPU."""
    parameter = torch.nn.Parameter(torch.full((1000,), float(rank + 1), device=_device()))
    dist.broadcast(parameter, 1)
    dist.all_reduce(parameter, async_op=True).get_future().wait()
    with torch.inference_mode():
        inferred = torch.ones(100, device=_device())[::2]
        dist.all_reduce(inferred, async_op=True).get_future().wait()
    return parameter.requires_grad, parameter[0].item(), inferred.sum().item()


def test_tensors_that_autograd_watches():
    assert _run(2, _requiring_gradients) == [(True, 4.0, 100.0)] * 2


def _alone(rank, world):
    tensor = torch.full((1000,), 3.0, device=_device())
    future = dist.all_reduce(tensor, async_op=True).get_future()
    tensor = future.wait()[0]
    dist.all_reduce(tensor, dist._make_nccl_premul_sum(2.0))
    dist.barrier()
    return tensor.sum().item()


def test_group_of_one():
    assert _run(1, _alone) == [6000.0]


def _capturing(rank, world):
    tensor = torch.ones(1000, device=_device())
    dist.all_reduce(tensor)
    graph = torch.cuda.CUDAGraph()
    message = ""
    with contextlib.suppress(RuntimeError), torch.cuda.graph(graph):
        try:
            dist.all_reduce(tensor)
        except RuntimeError as error:
            message = str(error)
    dist.all_reduce(tensor)
    return "cannot be captured into a graph" in message, tensor[0].item()


def test_capture_is_refused_and_harms_nothing():
    assert _run(2, _capturing) == [(True, 4.0)] * 2


def _ddp(rank, world, name, device, format=None):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    device = _device() if device == "cuda" else torch.device("cpu")
    model = DistributedDataParallel(models.made(name).to(device), bucket_cap_mb=0.02)
    if format:
        model.register_comm_hook(None, infold.hooks.wire(format))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step in range(20):
        inputs, classes = (each.to(device) for each in models.batch(name, rank, step))
        loss = torch.nn.functional.cross_entropy(model(inputs), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [each.detach().cpu().tolist() for each in model.module.parameters()]


# The GPU's own sums round differently in every kernel, by 2^-24 of a value. A step has about a
# hundred of them in a row, and the error grows over twenty steps as in training_test.py.
_CLOSE = 100 * 100 * 2**-24


@pytest.mark.parametrize("name", models.MODELS)
def test_ddp(name):
    answers = _run(2, _ddp, name, "cuda")
    wanted = _run(2, _ddp, name, "cpu")
    assert answers[0][1] == answers[1][1]
    for (losses, _), (cpu_losses, _) in zip(answers, wanted, strict=True):
        assert losses == pytest.approx(cpu_losses, rel=0, abs=_CLOSE)


def test_ddp_with_a_hook():
    answers = _run(2, _ddp, "transformer", "cuda", "bfp16")
    assert answers[0][1] == answers[1][1]
    assert all(losses[-1] < losses[0] / 10 for losses, _ in answers)


def _sync_batchnorm(rank, world):
    """Two ranks with half a batch each normalise as one rank with the whole batch."""
    torch.backends.cudnn.allow_tf32 = False
    halves = [models.batch("convnet", each, 0)[0] for each in range(world)]
    whole = models.made("convnet").to(_device())(torch.cat(halves).to(_device()))
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(models.made("convnet")).to(_device())
    part = DistributedDataParallel(model)(halves[rank].to(_device()))
    return (whole.chunk(world)[rank] - part).abs().max().item()


def test_sync_batchnorm():
    assert max(_run(2, _sync_batchnorm)) < 1e-5  # The values are near 1 and pass four layers.


def _overlapping(rank, world, folder):
    """The number of results that arrived while the kernels of the backward pass ran."""
    model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(12))).to(_device())
    model = DistributedDataParallel(model, bucket_cap_mb=16)
    inputs = torch.randn(16384, 2048, device=_device())
    for _ in range(3):
        model(inputs).square().mean().backward()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as trace:
        loss = model(inputs).square().mean()
        torch.cuda.synchronize()
        loss.backward()
        torch.cuda.synchronize()
    trace.export_chrome_trace(os.path.join(folder, f"trace{rank}.json"))
    works = _intervals(trace, lambda event: event.name.startswith("infold:all_reduce"))
    begun = min(start for start, _ in works)
    # Matrix products, under the names of all GPU libraries.
    kernels = [
        each
        for each in _intervals(trace, _is_kernel)
        if each[1] - each[0] > 100 and each[1] > begun
    ]
    results = _intervals(trace, lambda event: _on_gpu(event) and "HtoD" in event.name)
    print(
        f"rank {rank}: {len(works)} all-reduces; {_shared_us(works, kernels) / 1000:.1f} ms of "
        f"them and {len(results)} copies back beside {len(kernels)} kernels of backward"
    )
    return len(works), _shared_us(works, kernels), _shared_us(results, kernels)


def _on_gpu(event):
    return event.device_type == torch.autograd.DeviceType.CUDA


def _is_kernel(event):
    return _on_gpu(event) and not event.name.startswith(("Mem", "infold"))


def _intervals(trace, is_wanted):
    return [
        (event.time_range.start, event.time_range.end)
        for event in trace.events()
        if is_wanted(event)
    ]


def _shared_us(some, others):
    return sum(max(0, min(b, d) - max(a, c)) for a, b in some for c, d in others)


def test_network_and_backward_overlap(tmp_path):
    for works, while_it_travels, while_it_returns in _run(2, _overlapping, str(tmp_path)):
        assert works > 3
        assert while_it_travels > 0
        assert while_it_returns > 0
