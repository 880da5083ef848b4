# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors are summed as rows, with the bits of a dense sum and, for integers, of Gloo's sum.
The result is coalesced and has only rows that are not zero."""

import expected
import models
import pytest
import torch
import torch.distributed as dist
from expected import FLOATS, INTEGERS, check_same, numbers
from ranks import run_ranks
from torch.nn.parallel import DistributedDataParallel

import infold

WORLDS = (1, 2, 3, 5, 8)
TYPES = (*FLOATS, *INTEGERS, torch.bool)
# Sizes, and the number of sparse dimensions: rows shorter and longer than a block, rows of one
# element and without elements, and tensors without rows.
SHAPES = (
    ((500, 8), 1),
    ((100, 64), 1),
    ((300, 33), 1),
    ((20_000, 16), 1),
    ((1000,), 1),
    ((40, 50), 2),
    ((12, 10, 6), 2),
    ((7, 3, 5, 2), 1),
    ((6, 5), 0),
    ((0, 8), 1),
    ((5, 0), 1),
)


def drawn(dtype, shape, sparse_dim, rank, world, seed=0):
    """This rank's rows, some of them twice. If there are several ranks, the last has none."""
    size, row = shape[:sparse_dim], shape[sparse_dim:]
    count = 0 if world > 1 and rank == world - 1 or 0 in size else min(100, 2 + shape[0] // 4)
    if sparse_dim == 0:
        count = min(count, 1)
    random = torch.Generator().manual_seed(100 * seed + rank)
    # Half of these rows are at other ranks as well.
    indices = (
        torch.stack(
            [
                torch.randint(max(1, extent // (1 + i % 2)), (count,), generator=random)
                for i, extent in enumerate(size)
            ]
        )
        if size
        else torch.zeros(0, count, dtype=torch.int64)
    )
    values = numbers(dtype, (count, *row), rank, seed)
    return torch.sparse_coo_tensor(indices, values, shape, check_invariants=True)


def dense_of(tensor):
    return tensor.coalesce().to_dense()


def _summed(tensor, operation, group=None):
    tensor = tensor.clone()
    dist.all_reduce(tensor, getattr(dist.ReduceOp, operation), group=group)
    return tensor


def _check_rows(name, found, dense, sparse_dim):
    """Checks that these are the rows that are not zero, sorted."""
    assert found.is_coalesced() and found.sparse_dim() == sparse_dim, name
    row = dense.shape[sparse_dim:].numel()
    kept = dense.reshape(-1, row).ne(0).any(1) if dense.numel() else torch.zeros(0).bool()
    flat = kept.nonzero().flatten()
    wanted = (
        torch.stack(torch.unravel_index(flat, dense.shape[:sparse_dim]))
        if sparse_dim
        else (torch.zeros(0, len(flat), dtype=torch.int64))
    )
    check_same(f"{name}: rows", found.indices(), wanted)
    assert found.values().shape == (len(flat), *dense.shape[sparse_dim:]), name
    check_same(name, found.to_dense(), dense)


def _all_reduce(rank, world):
    dense_group = dist.new_group(pg_options=infold.Options(layout="dense"))
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES if world <= 3 else (torch.float32, torch.int64):
        operations = ("SUM", "AVG") if dtype in FLOATS else ("SUM", "BOR")
        for number, (shape, sparse_dim) in enumerate(SHAPES):
            tensors = [
                drawn(dtype, shape, sparse_dim, each, world, number) for each in range(world)
            ]
            dense = [dense_of(each) for each in tensors]
            for operation in operations:
                name = f"{operation} of {shape} {dtype}"
                found = _summed(tensors[rank], operation)
                wanted = _summed(dense[rank], operation, dense_group)
                _check_rows(name, found, wanted, sparse_dim)
                if dtype in FLOATS:
                    expected.check_sum(name, found.to_dense(), dense, operation)
                elif operation == "SUM" and dtype not in (torch.int16, torch.bool):
                    check_same(name, found.to_dense(), _summed(dense[rank], operation, gloo))


@pytest.mark.parametrize("world", WORLDS)
def test_all_reduce(world):
    run_ranks(world, _all_reduce)


def _on_path(rank, world):
    dense_group = dist.new_group(pg_options=infold.Options(layout="dense"))
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        tensor = drawn(dtype, (50_000, 16), 1, rank, world)
        found = _summed(tensor, "SUM")
        _check_rows(f"{dtype}", found, _summed(dense_of(tensor), "SUM", dense_group), 1)


@pytest.mark.parametrize("layout", ("dense", "blocks"))
def test_on_every_path(path, layout):
    run_ranks(3, _on_path, options=vars(path) | {"layout": layout})


def _many_at_once(rank, world):
    tensors = [drawn(torch.int64, *shape, rank, world, i) for i, shape in enumerate(SHAPES[:6] * 3)]
    wanted = [_summed(each, "SUM") for each in tensors]
    inputs = [(each.clone(), each.coalesce()) for each in tensors]
    kept = [coalesced.values().clone() for _, coalesced in inputs]
    works = []
    for loose, coalesced in inputs:
        works += [dist.all_reduce(loose, async_op=True), dist.all_reduce(coalesced, async_op=True)]
    given = [coalesced._values() for _, coalesced in inputs]
    for work in reversed(works):
        work.wait()
    for (loose, coalesced), tensor in zip(inputs, wanted, strict=True):
        check_same("loose", loose.to_dense(), tensor.to_dense())
        check_same("coalesced", coalesced.to_dense(), tensor.to_dense())
    for mine, before in zip(given, kept, strict=True):
        check_same("what was given", mine, before)


def test_many_at_once(path):
    run_ranks(3, _many_at_once, options=path)


def _future(rank, world):
    tensor = drawn(torch.float32, (500, 8), 1, rank, world)
    wanted = _summed(tensor, "SUM")
    work = dist.all_reduce(tensor, async_op=True)
    half = work.get_future().then(lambda done: done.value()[0] / 2)
    check_same("future", half.wait().to_dense(), wanted.to_dense() / 2)
    assert work.is_completed() and work.result()[0] is not None
    check_same("result", work.result()[0].to_dense(), wanted.to_dense())


def test_futures(path):
    run_ranks(3, _future, options=path)


def _inferring(rank, world):
    with torch.inference_mode():
        tensor = drawn(torch.float32, (500, 8), 1, rank, world)
        dist.all_reduce(tensor)
    plain = drawn(torch.float32, (500, 8), 1, rank, world)
    with torch.inference_mode():
        dist.all_reduce(plain)
    check_same("inference mode", plain.to_dense(), tensor.to_dense())
    # Autograd may keep the result for the backward pass.
    factor = torch.ones(8, requires_grad=True)
    (plain.values() * factor).sum().backward()
    assert torch.equal(factor.grad, plain.values().sum(0))


def test_inference_mode():
    run_ranks(2, _inferring)


def _ways(rank, world):
    """One rank passes rows, another a whole tensor, and a third elements with their indices."""
    tensors = [drawn(torch.float32, (600, 8), 1, each, 4) for each in range(world)]
    wanted = _summed(
        dense_of(tensors[rank]), "SUM", dist.new_group(pg_options=infold.Options(layout="dense"))
    )
    if rank == 0:
        found = _summed(tensors[0], "SUM").to_dense()
    elif rank == 1:
        found = _summed(dense_of(tensors[1]), "SUM")
    else:
        found = _summed(dense_of(tensors[2]).reshape(4800).to_sparse(), "SUM").to_dense()
    check_same("", found.view(600, 8), wanted)


def test_ranks_may_give_their_zeros_in_other_ways(path):
    run_ranks(3, _ways, options=vars(path) | {"layout": "blocks"})


def _of_other_row_sizes(rank, world):
    tensor = torch.ones(600, 8) if rank == 0 else torch.ones(150, 32)
    with pytest.raises(RuntimeError, match="rank 1 passed rows of 32 elements, rank 0 of 8"):
        _summed(tensor.to_sparse(1), "SUM")


def test_rows_of_other_sizes_are_an_error_that_says_so():
    run_ranks(2, _of_other_row_sizes)


def _of_one_format(rank, world, wire):
    tensor = drawn(torch.float32, (500, 8), 1, rank, world)
    _check_rows(wire, _summed(tensor, "SUM"), _summed(dense_of(tensor), "SUM"), 1)


@pytest.mark.parametrize("wire", ["fixed32", "digits"])
def test_rows_in_formats_with_an_exchange(wire):
    run_ranks(3, _of_one_format, wire, options={"wire": wire})


def _of_lists(rank, world):
    """Each tensor becomes the sum of all tensors of all ranks, in memory of its own."""
    backend = infold._registration.backend_of()
    for shape, sparse_dim in SHAPES[:4]:
        lists = [
            [drawn(torch.int64, shape, sparse_dim, each, world, number) for number in range(3)]
            for each in range(world)
        ]
        wanted = sum(dense_of(tensor) for each in lists for tensor in each)
        tensors = [tensor.clone() for tensor in lists[rank]]
        future = backend.allreduce(tensors).get_future()
        future.wait()
        for found in (*tensors, *future.value()):
            _check_rows("a tensor of a list", found, wanted, sparse_dim)
        tensors[0]._values().zero_()
        _check_rows("another tensor of the list", tensors[1], wanted, sparse_dim)


@pytest.mark.parametrize("world", (1, 3))
def test_lists_of_sparse_tensors(world):
    run_ranks(world, _of_lists)


# Section "errors".


def _rows(indices, size=10, is_coalesced=False):
    values = torch.ones(len(indices), 4)
    return torch.sparse_coo_tensor(
        torch.tensor([indices]),
        values,
        (size, 4),
        is_coalesced=is_coalesced,
        check_invariants=False,
    )


@pytest.mark.parametrize(
    ("make", "operation", "words"),
    (
        (lambda: _rows([1]), "MIN", "this operation counts zeros"),
        (lambda: _rows([1]), "PRODUCT", "this operation counts zeros"),
        (lambda: _rows([1]), "BOR", "only integers and bool have bits"),
        (lambda: _rows([1]).to(torch.int32), "AVG", "only floats have averages"),
    ),
)
def test_bad_calls_are_refused_and_the_group_lives(make, operation, words):
    run_ranks(2, _refused, make, operation, words)


def _refused(rank, world, make, operation, words):
    with pytest.raises(RuntimeError, match=words):
        dist.all_reduce(make(), getattr(dist.ReduceOp, operation))
    assert _summed(_rows([rank]), "SUM").to_dense().sum() == 8


def _failing(rank, world, make):
    with pytest.raises(dist.DistBackendError) as failure:
        dist.all_reduce(make(rank))
        dist.barrier()
    return str(failure.value)


@pytest.mark.parametrize(
    "make",
    (
        lambda rank: _rows([3, 1] if rank == 1 else [1, 3], is_coalesced=True),
        lambda rank: _rows([3, 3] if rank == 1 else [1, 3], is_coalesced=True),
        lambda rank: _rows([1, 11] if rank == 1 else [1, 3], is_coalesced=True),
        lambda rank: _rows([1, -3] if rank == 1 else [1, 3], is_coalesced=True),
        lambda rank: _rows([1, 3], size=1000 if rank == 1 else 10),
    ),
    ids=("unsorted", "twice", "beyond", "negative", "size"),
)
def test_bad_rows_are_named_at_every_rank(make):
    answers = run_ranks(3, _failing, make, options={"shared_memory": "off"})
    assert all("rank 1" in text for rank, text in enumerate(answers) if rank != 1), answers


def _calling_another(rank, world):
    with pytest.raises(dist.DistBackendError, match="rank 1"):
        if rank == 1:
            dist.all_reduce(torch.eye(3).to_sparse())
        else:
            dist.all_reduce(torch.eye(3), dist.ReduceOp.PRODUCT)  # a call of Gloo
    return True


def test_a_rank_that_sums_rows_where_others_multiply_is_named():
    assert run_ranks(3, _calling_another, timeout_s=100)


# Section "training".


class _Table(torch.nn.Module):
    def __init__(self, sparse):
        super().__init__()
        self.table = torch.nn.Embedding(2000, 16, sparse=sparse)
        self.layer = torch.nn.Linear(16, 1)

    def forward(self, ids):
        return self.layer(self.table(ids)).square().sum()


def _training(rank, world, hook=None, sparse=True):
    torch.manual_seed(3)
    model = DistributedDataParallel(_Table(sparse))
    if hook:
        model.register_comm_hook(None, hook)
    losses = []
    for step in range(5):
        # By turns, one rank does not look up any row.
        count = 0 if (step + rank) % 3 == 0 else 50
        random = torch.Generator().manual_seed(100 * step + rank)
        model.zero_grad()
        loss = model(torch.randint(2000, (count,), generator=random))
        loss.backward()
        assert model.module.table.weight.grad.is_sparse == sparse
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 0.01 * parameter.grad.to_dense()
        losses.append(loss.item())
    return losses, models.digest(model.module)


@pytest.mark.parametrize("world", (2, 4, 8))
def test_ddp_where_ranks_have_no_rows(world):
    answers = run_ranks(world, _training)
    assert answers == run_ranks(world, _training, options={"shared_memory": "off"})
    assert len({digest for _, digest in answers}) == 1
    gloo = run_ranks(world, _training, None, False, backend="gloo")
    for (losses, _), (wanted, _) in zip(answers, gloo, strict=True):
        assert losses == pytest.approx(wanted, rel=1e-5)


def test_ddp_with_hooks(path):
    plain = run_ranks(3, _training, infold.hooks.wire("automatic"), options=path)
    for layout in ("automatic", "dense"):
        assert run_ranks(3, _training, infold.hooks.layout(layout)) == plain
    smaller = run_ranks(3, _training, infold.hooks.wire("bfp16"), options=path)
    assert len({digest for _, digest in smaller}) == 1 and smaller != plain
