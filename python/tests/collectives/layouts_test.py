# SPDX-License-Identifier: Apache-2.0
"""Sparse sums have the bits of dense sums, and for integers also of Gloo's sums. Calls that cannot
be sparse are dense."""

import time

import expected
import models
import pytest
import torch
import torch.distributed as dist
from expected import FLOATS, INTEGERS, TYPES, check_same, numbers
from ranks import run_ranks
from torch.nn.parallel import DistributedDataParallel

import infold

WORLDS = (1, 2, 3, 5, 8)
SIZES = (0, 1, 7, 1000, 100_003)
OFF = infold.Options(layout="blocks", shared_memory="off")


def mostly_zeros(dtype, size, rank, world, seed=0):
    """One in ten of this rank's rows of 8 elements has values, and so does one in twenty at all
    ranks. If there are several ranks, the last has no values at all."""
    values = numbers(dtype, (size,), rank, seed)
    if world > 1 and rank == world - 1:
        return torch.zeros_like(values)
    random = torch.Generator().manual_seed(10 * seed + 7)
    shared = torch.rand(size // 8 + 1, generator=random) < 0.05
    random.manual_seed(10 * seed + 1000 * rank)
    kept = shared | (torch.rand(size // 8 + 1, generator=random) < 0.1)
    return torch.where(kept.repeat_interleave(8)[:size], values, torch.zeros_like(values))


def _operations(dtype):
    if dtype.is_complex:
        return ("SUM", "AVG")
    if dtype in FLOATS:
        return ("SUM", "AVG", "MIN", "MAX", "PRODUCT")
    return ("SUM", "MIN", "MAX", "PRODUCT", "BAND", "BOR", "BXOR")


def _summed(tensor, operation, group=None):
    tensor = tensor.clone()
    dist.all_reduce(tensor, getattr(dist.ReduceOp, operation), group=group)
    return tensor


def _all_reduce(rank, world):
    dense = dist.new_group(pg_options=infold.Options(layout="dense"))
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES if world <= 3 else (torch.float32, torch.int64):
        for size in SIZES:
            tensors = [mostly_zeros(dtype, size, each, world, size) for each in range(world)]
            for operation in _operations(dtype):
                name = f"{operation} of {size} {dtype}"
                found = _summed(tensors[rank], operation)
                check_same(name, found, _summed(tensors[rank], operation, dense))
                if dtype in INTEGERS and dtype != torch.int16:
                    check_same(name, found, _summed(tensors[rank], operation, gloo))
                if (dtype in FLOATS or dtype.is_complex) and operation in ("SUM", "AVG"):
                    expected.check_sum(name, found, tensors, operation)


@pytest.mark.parametrize("world", WORLDS)
def test_all_reduce_has_the_bits_of_a_dense_one(world):
    run_ranks(world, _all_reduce, options={"layout": "blocks"})


def _on_path(rank, world):
    dense = dist.new_group(pg_options=infold.Options(layout="dense"))
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        tensor = mostly_zeros(dtype, 300_000, rank, world)
        found = _summed(tensor, "SUM")
        check_same(f"{dtype}", found, _summed(tensor, "SUM", dense))


def test_on_every_path(path):
    run_ranks(3, _on_path, options=vars(path) | {"layout": "blocks"})


def _packets(rank, world, tensor):
    dist.barrier()
    before = infold.statistics()["packets_sent"]
    for _ in range(4):
        dist.all_reduce(tensor)
    return infold.statistics()["packets_sent"] - before


def _leaves_out(rank, world):
    zeros = torch.zeros(1_000_000)
    full = torch.ones(1_000_000)
    return _packets(rank, world, zeros) < _packets(rank, world, full) / 20


def test_the_option_leaves_out_zeros(monkeypatch, tmp_path):
    def leaves_out(**options):
        return run_ranks(2, _leaves_out, options=options | {"shared_memory": "off"})

    assert leaves_out() == leaves_out(layout="dense") == [False] * 2
    assert leaves_out(layout="blocks") == [True] * 2
    config = tmp_path / "infold.toml"
    config.write_text("layout = 'blocks'", encoding="utf-8")
    monkeypatch.setenv("INFOLD_CONFIG", str(config))
    assert leaves_out() == [True] * 2
    monkeypatch.setenv("INFOLD_LAYOUT", "dense")
    assert leaves_out() == [False] * 2


def _automatic(rank, world):
    dense = dist.new_group(pg_options=infold.Options(layout="dense"))
    zeros, full = (mostly_zeros(torch.float32, 500_000, rank, world) for _ in range(2))
    full[0::8] = rank + 1
    for tensor in (zeros, full, zeros[:1000]):
        wanted = _summed(tensor, "SUM", dense)
        for _ in range(5):
            check_same(f"of {len(tensor)}", _summed(tensor, "SUM"), wanted)
    _summed(torch.ones(10, dtype=torch.bool), "SUM")
    _summed(full, "MIN")
    return infold.statistics()["calls_sparse"], infold.statistics(dense)


def test_automatic_leaves_out_zeros(path):
    answers = run_ranks(3, _automatic, options=vars(path) | {"layout": "automatic"})
    assert len({count for count, _ in answers}) == 1 and answers[0][0] > 0
    assert all(dense["calls_sparse"] == 0 for _, dense in answers)


def _with_agreed_exponents(rank, world):
    wire = "fixed32"
    tensor = mostly_zeros(torch.float32, 10_000, rank, world)
    wanted = _summed(
        tensor, "SUM", dist.new_group(pg_options=infold.Options(layout="dense", wire=wire))
    )
    found = _summed(tensor, "SUM", dist.new_group(pg_options=infold.Options(wire=wire)))
    check_same("of a group", found, wanted)
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    backend.all_reduce_as(tensor, wire).wait()
    check_same("of a call", tensor, wanted)


def test_agreed_exponents_go_dense():
    run_ranks(3, _with_agreed_exponents, options={"layout": "blocks"})


def _in_digits(rank, world):
    for dtype in FLOATS:
        tensor = mostly_zeros(dtype, 10_000, rank, world)
        for operation in ("SUM", "AVG"):
            wanted = _summed(
                tensor,
                operation,
                dist.new_group(pg_options=infold.Options(layout="dense", wire="native")),
            )
            check_same(f"{operation} of {dtype}", _summed(tensor, operation), wanted)
    assert infold.statistics()["calls_sparse"] == 2 * len(FLOATS)


def test_digits_leave_out_zeros(path):
    run_ranks(3, _in_digits, options=vars(path) | {"layout": "blocks", "wire": "digits"})


def _other_collectives(rank, world):
    ones = mostly_zeros(torch.float32, 1000, rank, world)
    parts = [ones.clone() for _ in range(world)]
    dist.all_gather(parts, ones)
    output = torch.empty(1000)
    dist.reduce_scatter_single(output, torch.cat([ones] * world))
    check_same("reduce_scatter", output, _summed(ones, "SUM"))
    reduced = ones.clone()
    dist.reduce(reduced, 0)
    if rank == 0:
        check_same("reduce", reduced, output)
    with dist._coalescing_manager():
        lists = [ones.clone(), ones[:500].clone()]
        for each in lists:
            dist.all_reduce(each)
    check_same("list", lists[0], output)
    check_same("list", lists[1], output[:500])
    check_same("all_gather", torch.stack(parts)[rank], ones)


def test_other_collectives_go_as_ever():
    run_ranks(3, _other_collectives, options={"layout": "blocks"})


def _many_at_once(rank, world):
    dense = dist.new_group(pg_options=infold.Options(layout="dense"))
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    inputs = [
        mostly_zeros(torch.float32, size, rank, world, size)
        for size in (100_000, 10, 50_000, 0, 200_000, 1000) * 3
    ]
    outputs = [each.clone() for each in inputs]
    works = [
        backend.all_reduce_as(each, layout=("blocks", "dense")[i % 3 == 1])
        for i, each in enumerate(outputs)
    ]
    for work in reversed(works):
        work.wait()
    for tensor, found in zip(inputs, outputs, strict=True):
        check_same(f"of {len(tensor)}", found, _summed(tensor, "SUM", dense))


def test_many_at_once_in_both_layouts(path):
    run_ranks(3, _many_at_once, options=path)


def _failing(rank, world, call):
    begun = time.monotonic()
    with pytest.raises(dist.DistBackendError) as failure:
        call(rank)
        dist.barrier()
    assert time.monotonic() - begun < 10
    return str(failure.value)


def _other_layout(rank):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    backend.all_reduce_as(torch.ones(100_000), layout=("blocks", "dense")[rank == 1]).wait()


def _other_size(rank):
    dist.all_reduce(torch.ones(100_000 + 1000 * (rank == 1)))


def _other_type(rank):
    dist.all_reduce(torch.ones(100_000, dtype=(torch.float32, torch.int32)[rank == 1]))


@pytest.mark.parametrize("call", (_other_layout, _other_size, _other_type))
def test_ranks_disagree(call):
    answers = run_ranks(3, _failing, call, options=OFF)
    assert all("rank 1" in text for text in answers), answers


# Section "hooks".

_ROWS = 20_000


class _Wide(torch.nn.Module):
    """A table, of which a step uses any number of rows, and a layer that is used completely. Each
    has more than 1 MB."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(_ROWS, 16)
        self.layer = torch.nn.Linear(16, 16_384)

    def forward(self, ids):
        return self.layer(self.table(ids).mean(0)).square().mean()


def _made(hook):
    torch.manual_seed(3)
    model = DistributedDataParallel(_Wide(), bucket_cap_mb=0.3)
    model.register_comm_hook(None, hook)
    return model


def _step(model, ids):
    model.zero_grad()
    loss = model(ids)
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
    return loss.item()


def _hooked(rank, world, hook):
    model = _made(hook)
    losses = []
    for step in range(5):
        random = torch.Generator().manual_seed(100 * step + rank)
        losses.append(_step(model, torch.randint(_ROWS, (40,), generator=random)))
    return losses, models.digest(model.module)


def test_hooks_layouts_have_the_same_bits(path):
    wanted = run_ranks(2, _hooked, infold.hooks.layout("dense"))
    for layout in ("dense", "blocks", "automatic"):
        assert run_ranks(2, _hooked, infold.hooks.layout(layout), options=path) == wanted, layout
    half = [
        run_ranks(2, _hooked, infold.hooks.layout(layout, wire=infold.hooks.wire("bfp16")))
        for layout in ("dense", "blocks")
    ]
    assert half[0] == half[1] != wanted
    losses = [losses for losses, _ in run_ranks(2, _hooked, infold.hooks.wire("automatic"))]
    for (found, _), other in zip(wanted, losses, strict=True):
        assert found == pytest.approx(other, rel=1e-6)


def _choosing(rank, world):
    """How many of the last 80 sums of parameters without zeros were sparse."""
    model = _made(infold.hooks.layout("automatic"))
    every = torch.arange(_ROWS)
    for _ in range(80):
        _step(model, every)
    before = infold.statistics()["calls_sparse"]
    for _ in range(80):
        _step(model, every)
    return before, infold.statistics()["calls_sparse"] - before


def test_automatic_is_the_layout_of_that_name():
    for before, after in run_ranks(2, _choosing):
        # Two large parameters are sparse until it is known, 64 calls later, that they do not have
        # zeros.
        assert before > 60 and after < 10, (before, after)


def test_parts_of_a_bucket():
    sizes = (10, 70_000, 20, 30, 65_536, 90_000, 65_535)
    parameters = [torch.nn.Parameter(torch.full((size,), float(size))) for size in sizes]
    buffer = torch.cat([each.detach() for each in parameters])
    parts = list(infold.hooks._parts(buffer, parameters))
    assert torch.equal(torch.cat([tensor for tensor, _ in parts]), buffer)
    for tensor, members in parts:
        assert torch.equal(tensor, torch.cat([each.detach() for each in members]))
    assert [[each.numel() for each in members] for _, members in parts] == [
        [10],
        [70_000],
        [20, 30],
        [65_536],
        [90_000],
        [65_535],
    ]


def test_wrong_layouts_are_refused():
    with pytest.raises(ValueError, match="layout is 'sparse'; allowed: dense, blocks, automatic"):
        infold.hooks.layout("sparse")
