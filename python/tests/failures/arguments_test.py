# SPDX-License-Identifier: Apache-2.0
"""Arguments that are wrong at one rank raise at that rank's call, with torch's wording. The group
continues: the other ranks' calls wait for the right call."""

import pytest
import torch
import torch.distributed as dist
from failing import message_of
from ranks import run_ranks

import infold


def _ones(count=3, dtype=torch.float32):
    return torch.ones(count, dtype=dtype)


def _options(kind, root, tensor=0):
    options = kind()
    options.rootRank = root
    if tensor:
        options.rootTensor = tensor
    return options


def _broadcast(backend, root=0, tensor=0, tensors=None):
    return backend.broadcast(
        [_ones()] if tensors is None else tensors, _options(dist.BroadcastOptions, root, tensor)
    )


def _reduce(backend, root=0, tensor=0, tensors=None, operation=dist.ReduceOp.SUM):
    options = _options(dist.ReduceOptions, root, tensor)
    options.reduceOp = operation
    return backend.reduce([_ones()] if tensors is None else tensors, options)


def _all_reduce(backend, tensors, operation):
    options = dist.AllreduceOptions()
    options.reduceOp = operation
    return backend.allreduce(tensors, options)


def _gather(backend, outputs, inputs, root=1):
    return backend.gather(outputs, inputs, _options(dist.GatherOptions, root))


def _scatter(backend, outputs, inputs, root=1):
    return backend.scatter(outputs, inputs, _options(dist.ScatterOptions, root))


_I32 = torch.int32
# Calls of rank 1 in a group of 2. They use the backend itself, because PyTorch's functions check
# some arguments first.
_WRONG = {
    "broadcast: root above": (lambda b: _broadcast(b, 2), "invalid root rank: 2"),
    "broadcast: root below": (lambda b: _broadcast(b, -1), "invalid root rank: -1"),
    "broadcast: root tensor": (lambda b: _broadcast(b, 0, 1), "invalid root tensor: 1"),
    "broadcast: nothing": (lambda b: _broadcast(b, tensors=[]), "invalid root tensor: 0"),
    "broadcast: types": (
        lambda b: _broadcast(b, tensors=[_ones(), _ones(3, _I32)]),
        "invalid tensor type at index 1",
    ),
    "broadcast: sizes": (
        lambda b: _broadcast(b, tensors=[_ones(), _ones(4)]),
        "invalid tensor size at index 1",
    ),
    "broadcast: device": (lambda b: _broadcast(b, tensors=[torch.ones(3, device="meta")]), "meta"),
    "reduce: root": (lambda b: _reduce(b, 5), "invalid root rank: 5"),
    "reduce: root of Gloo's": (
        lambda b: _reduce(b, 5, operation=dist.ReduceOp.PRODUCT),
        "invalid root rank: 5",
    ),
    "reduce: root tensor": (lambda b: _reduce(b, 0, 1), "invalid root tensor: 1"),
    "reduce: two": (
        lambda b: _reduce(b, tensors=[_ones(), _ones()]),
        "requires a single-element tensor list",
    ),
    "all_reduce: nothing": (lambda b: b.allreduce([]), "requires non-empty tensor list"),
    "all_reduce: types": (lambda b: b.allreduce([_ones(), _ones(3, _I32)]), "invalid tensor type"),
    "all_reduce: sizes": (lambda b: b.allreduce([_ones(), _ones(4)]), "invalid tensor size"),
    "all_reduce: layouts": (
        lambda b: b.allreduce([_ones(), _ones().to_sparse()]),
        "invalid tensor layout",
    ),
    "all_reduce: sparse and dense": (
        lambda b: b.allreduce([_ones().to_sparse(), _ones()]),
        "invalid tensor layout",
    ),
    "all_reduce: sparse sizes": (
        lambda b: b.allreduce([_ones().to_sparse(), _ones(4).to_sparse()]),
        "invalid tensor size",
    ),
    "all_reduce: sparse products": (
        lambda b: _all_reduce(b, [_ones().to_sparse()], dist.ReduceOp.PRODUCT),
        "unsupported reduction operation",
    ),
    "all_reduce: sparse maxima": (
        lambda b: _all_reduce(b, [_ones().to_sparse(), _ones().to_sparse()], dist.ReduceOp.MAX),
        "unsupported reduction operation",
    ),
    "all_gather: in turn": (
        lambda b: b.allgather_coalesced([[_ones(4)], [_ones()]], [_ones()]),
        "invalid size of output tensor at index 0",
    ),
    "all_gather: nothing": (lambda b: b.allgather([], []), "requires non-empty input tensor list"),
    "all_gather: lists": (
        lambda b: b.allgather([[_ones(), _ones()]], [_ones(), _ones()]),
        "requires input/output tensor lists to have the same length",
    ),
    "all_gather: length": (
        lambda b: b.allgather([[_ones()]], [_ones()]),
        "invalid output tensor list at index 0 (expected length 2, got 1)",
    ),
    "all_gather: types": (
        lambda b: b.allgather([[_ones(), _ones(3, _I32)]], [_ones()]),
        "invalid tensor type at index 1",
    ),
    "all_gather: sizes": (
        lambda b: b.allgather([[_ones(4), _ones()]], [_ones()]),
        "invalid tensor size at index 0",
    ),
    "gather: root": (lambda b: _gather(b, [], [_ones()], 2), "invalid root rank: 2"),
    "gather: no list": (
        lambda b: _gather(b, [], [_ones()]),
        "requires a single-element output list containing a list with 2 tensors",
    ),
    "gather: length": (
        lambda b: _gather(b, [[_ones()]], [_ones()]),
        "Incorrect output list size 1",
    ),
    "gather: inputs": (
        lambda b: _gather(b, [[_ones(), _ones()]], [_ones(), _ones()]),
        "requires a single-element input tensor list",
    ),
    "gather: types": (
        lambda b: _gather(b, [[_ones(3, _I32), _ones()]], [_ones()]),
        "invalid tensor type at index 0",
    ),
    "gather: sizes": (
        lambda b: _gather(b, [[_ones(), _ones(4)]], [_ones()]),
        "invalid tensor size at index 1",
    ),
    "gather: not the root": (
        lambda b: _gather(b, [[_ones(), _ones()]], [_ones()], 0),
        "requires empty output on non-root",
    ),
    "scatter: root": (lambda b: _scatter(b, [_ones()], [], -1), "invalid root rank: -1"),
    "scatter: no list": (
        lambda b: _scatter(b, [_ones()], []),
        "requires a single-element input list containing a list with 2 tensors",
    ),
    "scatter: length": (lambda b: _scatter(b, [_ones()], [[_ones()]]), "Incorrect input list size"),
    "scatter: outputs": (
        lambda b: _scatter(b, [_ones(), _ones()], [[_ones(), _ones()]]),
        "requires a single-element output tensor list",
    ),
    "scatter: types": (
        lambda b: _scatter(b, [_ones()], [[_ones(3, _I32), _ones()]]),
        "invalid tensor type at index 0",
    ),
    "scatter: sizes": (
        lambda b: _scatter(b, [_ones()], [[_ones(), _ones(4)]]),
        "invalid tensor size at index 1",
    ),
    "scatter: not the root": (
        lambda b: _scatter(b, [_ones()], [[_ones(), _ones()]], 0),
        "requires empty input on non-root",
    ),
    "reduce_scatter: length": (
        lambda b: b.reduce_scatter([_ones()], [[_ones()]]),
        "Incorrect input list size 1",
    ),
    "reduce_scatter: sizes": (
        lambda b: b.reduce_scatter([_ones()], [[_ones(), _ones(4)]]),
        "invalid tensor size at index 1",
    ),
    "all_to_all: length": (
        lambda b: b.alltoall([_ones()], [_ones()]),
        "does not match world size 2",
    ),
    "send: rank": (lambda b: b.send([_ones()], 7, 0), "0 to 1"),
    "send: itself": (lambda b: b.send([_ones()], 1, 0), "not this"),
    "recv: tag": (lambda b: b.recv([_ones()], 0, -1), "tag"),
}


def _one_rank_is_wrong(rank, world):
    """The right call of the same kind follows, which the other rank has already made."""
    backend = infold._registration.backend_of()
    rights = {
        "broadcast": lambda: _broadcast(backend),
        "reduce": lambda: _reduce(backend),
        "gather": lambda: _gather(backend, [[_ones(), _ones()]] if rank == 1 else [], [_ones()]),
        "scatter": lambda: _scatter(backend, [_ones()], [[_ones(), _ones()]] if rank == 1 else []),
        "all_reduce": lambda: backend.allreduce([_ones()]),
        "all_gather": lambda: backend.allgather([[_ones(), _ones()]], [_ones()]),
        "reduce_scatter": lambda: backend.reduce_scatter([_ones()], [[_ones(), _ones()]]),
        "all_to_all": lambda: backend.alltoall([_ones(), _ones()], [_ones(), _ones()]),
    }
    for name, (call, words) in _WRONG.items():
        if rank == 1:
            text = message_of(lambda call=call: call(backend), name)  # and not at its wait()
            assert words in text and "infold" in text, f"{name}: no '{words}' in: {text[:300]}"
        right = rights.get(name.split(":")[0])
        if right:
            right().wait()
    total = _ones()
    dist.all_reduce(total)
    assert total.tolist() == [world] * 3


def test_what_is_wrong_at_one_rank_raises_there_alone():
    run_ranks(2, _one_rank_is_wrong, timeout_s=60)


def _roots_by_name(rank, world):
    for call in (lambda: dist.broadcast(_ones(), 7), lambda: dist.reduce(_ones(), 7)):
        assert "invalid root rank: 7" in message_of(call)
    total = _ones()
    dist.all_reduce(total)
    assert total.tolist() == [world] * 3


def test_roots_outside_of_the_world():
    run_ranks(4, _roots_by_name)


# If a rank passes several tensors in one call, each counts like the tensor of a rank, as with Gloo.


def _listed(rank, world):
    group = dist.group.WORLD
    backend = group._get_backend(torch.device("cpu"))
    answers = []
    for dtype in (torch.float32, torch.int64, torch.float16):
        for operation in (dist.ReduceOp.SUM, dist.ReduceOp.MAX, dist.ReduceOp.PRODUCT):
            tensors = [torch.full((5,), rank + 2 * i + 1).to(dtype) for i in range(3)]
            options = dist.AllreduceOptions()
            options.reduceOp = operation
            backend.allreduce(tensors, options).wait()
            answers.append([each.tolist() for each in tensors])
        for root in range(world):
            for index in range(2):
                tensors = [torch.full((4, 2), 10 * rank + i).to(dtype) for i in range(2)]
                tensors[1] = tensors[1].t().contiguous().t()
                backend.broadcast(tensors, _options(dist.BroadcastOptions, root, index)).wait()
                answers.append([each.tolist() for each in tensors])
        inputs = [torch.full((2, 3), 10 * rank + i).to(dtype) for i in range(2)]
        outputs = [[torch.zeros(2, 3).to(dtype) for _ in range(2 * world)] for _ in inputs]
        backend.allgather(outputs, inputs).wait()
        answers.append([each.tolist() for outs in outputs for each in outs])
    return answers


@pytest.mark.parametrize("world", (1, 3))
def test_lists_of_several_tensors(world):
    assert run_ranks(world, _listed) == run_ranks(world, _listed, backend="gloo")


def _listed_truths(rank, world):
    tensors = [torch.tensor([True, False, rank == 0]), torch.tensor([True, False, False])]
    infold._registration.backend_of().allreduce(tensors).wait()
    assert [each.tolist() for each in tensors] == [[True, False, True]] * 2


def test_a_list_of_truth_values_is_summed_as_any():
    run_ranks(2, _listed_truths)
