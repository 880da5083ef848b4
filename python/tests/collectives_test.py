# SPDX-License-Identifier: Apache-2.0
"""Every collective gives what Gloo gives: the same bits for integers and for what is only moved,
and floats within the bound of the wire format. What Gloo cannot do is compared with plain torch."""

import expected
import pytest
import torch
import torch.distributed as dist
from expected import FLOATS, INTEGERS, LAYOUTS, SIZES, TYPES, check_same, laid_out, numbers
from ranks import run_ranks

WORLDS = tuple(range(1, 9))
SUMS = ("SUM", "AVG", "MIN", "MAX", "PRODUCT")
BITS = ("BAND", "BOR", "BXOR")


def _operations(dtype):
    if dtype.is_complex:
        return ("SUM", "AVG")
    if dtype in FLOATS:
        return SUMS
    return ("SUM", "MIN", "MAX", "PRODUCT") + BITS


def _sizes(dtype, world):
    """The long one where it tells most: it is the slowest by far."""
    return SIZES if world <= 3 or dtype in (torch.float32, torch.int64) else SIZES[:-1]


def _is_sum_of_floats(dtype, operation):
    return (dtype in FLOATS or dtype.is_complex) and operation in ("SUM", "AVG", "PREMUL_SUM")


def _gloo_reduces(dtype, operation):
    """Its sums of truth values are numbers, and it has no 16-bit integers."""
    return dtype not in (torch.int16, torch.bool) and not _is_sum_of_floats(dtype, operation)


def _check_reduction(name, found, tensors, operation, gloo=None):
    if _is_sum_of_floats(tensors[0].dtype, operation):
        expected.check_sum(name, found, tensors, operation)
    elif gloo is not None:
        check_same(name, found, gloo)
    else:
        check_same(name, found, expected.plain(operation, tensors).to(found.dtype))


def _all_reduce(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES:
        for operation in _operations(dtype):
            for size in _sizes(dtype, world):
                tensors = [numbers(dtype, (size,), each, size) for each in range(world)]
                name = f"all_reduce {operation} of {size} {dtype}"
                found = tensors[rank].clone()
                dist.all_reduce(found, getattr(dist.ReduceOp, operation))
                other = None
                if _gloo_reduces(dtype, operation):
                    other = tensors[rank].clone()
                    dist.all_reduce(other, getattr(dist.ReduceOp, operation), group=gloo)
                _check_reduction(name, found, tensors, operation, other)


@pytest.mark.parametrize("world", WORLDS)
def test_all_reduce(world):
    run_ranks(world, _all_reduce)


def _reduce(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES:
        for operation in _operations(dtype):
            for size in SIZES[:-1]:
                root = size % world
                tensors = [numbers(dtype, (size,), each, size) for each in range(world)]
                name = f"reduce {operation} of {size} {dtype} to {root}"
                found = tensors[rank].clone()
                dist.reduce(found, root, getattr(dist.ReduceOp, operation))
                other = None
                if _gloo_reduces(dtype, operation):
                    other = tensors[rank].clone()
                    dist.reduce(other, root, getattr(dist.ReduceOp, operation), group=gloo)
                if rank == root:
                    _check_reduction(name, found, tensors, operation, other)


@pytest.mark.parametrize("world", WORLDS)
def test_reduce(world):
    run_ranks(world, _reduce)


def _reduce_scatter(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES:
        for operation in _operations(dtype):
            for size in SIZES[:-1]:
                wholes = [numbers(dtype, (world, size), each, size) for each in range(world)]
                parts = [whole[rank] for whole in wholes]
                name = f"reduce_scatter {operation} of {size} {dtype}"
                answers = [_both_reduce_scatters(wholes[rank], operation, None)]
                if _gloo_reduces(dtype, operation):
                    answers.append(_both_reduce_scatters(wholes[rank], operation, gloo))
                for each in zip(*answers, strict=True):
                    _check_reduction(name, each[0], parts, operation, *each[1:])


def _both_reduce_scatters(whole, operation, group):
    operation = getattr(dist.ReduceOp, operation)
    single, listed = torch.empty_like(whole[0]), torch.empty_like(whole[0])
    dist.reduce_scatter_single(single, whole.flatten(), operation, group=group)
    dist.reduce_scatter(listed, list(whole.clone()), operation, group=group)
    return single, listed


@pytest.mark.parametrize("world", WORLDS)
def test_reduce_scatter(world):
    run_ranks(world, _reduce_scatter)


def _premultiplied(rank, world):
    for dtype in (*FLOATS, torch.complex64, torch.int32):
        for factor in (2.0, 3.0 if dtype == torch.int32 else 0.125):
            tensors = [numbers(dtype, (1000,), each) // 16 if dtype == torch.int32 else
                       numbers(dtype, (1000,), each) for each in range(world)]
            scaled = [(each.to(torch.promote_types(dtype, torch.float64)) * factor).to(dtype)
                      for each in tensors]
            operation = expected.premultiplied(factor)
            found = tensors[rank].clone()
            dist.all_reduce(found, operation)
            _check_reduction(f"all_reduce times {factor} of {dtype}", found, scaled, "SUM")
            found = tensors[rank].clone()
            dist.reduce(found, 0, operation)
            if rank == 0:
                _check_reduction(f"reduce times {factor} of {dtype}", found, scaled, "SUM")
            part = torch.empty(1000, dtype=dtype)
            dist.reduce_scatter_single(part, tensors[rank].repeat(world), operation)
            _check_reduction(f"reduce_scatter times {factor} of {dtype}", part, scaled, "SUM")


@pytest.mark.parametrize("world", WORLDS)
def test_sums_with_a_factor(world):
    run_ranks(world, _premultiplied)


def _in_other_layouts(rank, world):
    for dtype in (torch.float32, torch.bfloat16, torch.int32, torch.int16, torch.complex64):
        for shape in ((), (8,), (40, 25), (3, 8, 16)):
            for layout in LAYOUTS:
                tensors = [numbers(dtype, shape, each) for each in range(world)]
                found = laid_out(tensors[rank], layout)
                if found is None:
                    continue
                name = f"of {layout} {dtype} {shape}"
                strides = found.stride()
                dist.all_reduce(found)
                _check_reduction("all_reduce " + name, found, tensors, "SUM")
                assert found.stride() == strides
                _move_in_layout(rank, world, tensors, layout, name)


def _move_in_layout(rank, world, tensors, layout, name):
    shape, dtype = tensors[0].shape, tensors[0].dtype
    moved = laid_out(tensors[rank], layout)
    dist.broadcast(moved, world - 1)
    check_same("broadcast " + name, moved, tensors[-1])
    room = [laid_out(torch.zeros_like(tensors[0]), layout) for _ in range(world)]
    dist.all_gather(room, laid_out(tensors[rank], layout))
    for each, sent in zip(room, tensors, strict=True):
        check_same("all_gather " + name, each, sent)
    whole = torch.zeros(world, *shape, dtype=dtype)
    output = laid_out(whole, layout)
    source = laid_out(tensors[rank], layout)
    if output is not None:
        dist.all_gather_single(output, source)
        check_same("all_gather_single " + name, output, torch.stack(tensors))
        part = laid_out(torch.zeros(shape, dtype=dtype), layout)
        dist.reduce_scatter_single(part, laid_out(torch.stack(tensors), layout))
        _check_reduction("reduce_scatter " + name, part, [tensors[rank]] * world, "SUM")


@pytest.mark.parametrize("world", (1, 3))
def test_any_layout(world):
    run_ranks(world, _in_other_layouts)


def _delegated_layouts(rank, world):
    """What others do for infold, too."""
    for dtype in (torch.float32, torch.int16, torch.bool, torch.complex64):
        for layout in LAYOUTS:
            tensors = [numbers(dtype, (world, 6), each) for each in range(world)]
            source = laid_out(tensors[rank], layout)
            if source is None:
                continue
            name = f"of {layout} {dtype}"
            product = laid_out(tensors[rank], layout)
            if not dtype.is_complex:
                dist.all_reduce(product, dist.ReduceOp.PRODUCT)
                wanted = expected.plain("PRODUCT", tensors).to(dtype)
                assert torch.allclose(product, wanted), "product " + name
            _gather_and_scatter(rank, world, tensors, layout, name)
            output = laid_out(torch.zeros_like(tensors[0]), layout)
            dist.all_to_all_single(output, source)
            check_same("all_to_all_single " + name, output,
                       torch.stack([each[rank] for each in tensors]))
            outputs = [laid_out(torch.zeros(6, dtype=dtype), layout if layout != "transposed"
                                else "strided") for _ in range(world)]
            dist.all_to_all(outputs, list(source))
            check_same("all_to_all " + name, torch.stack(outputs),
                       torch.stack([each[rank] for each in tensors]))


def _gather_and_scatter(rank, world, tensors, layout, name):
    room = [laid_out(torch.zeros_like(tensors[0]), layout) for _ in range(world)]
    dist.gather(laid_out(tensors[rank], layout), room if rank == 0 else None, dst=0)
    for each, sent in zip(room, tensors, strict=True):
        if rank == 0:
            check_same("gather " + name, each, sent)
    mine = laid_out(torch.zeros_like(tensors[0]), layout)
    sent = [laid_out(each, layout) for each in tensors] if rank == world - 1 else None
    dist.scatter(mine, sent, src=world - 1)
    check_same("scatter " + name, mine, tensors[rank])


@pytest.mark.parametrize("world", (1, 3))
def test_any_layout_of_what_is_not_summed(world):
    run_ranks(world, _delegated_layouts)


def _moves(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in TYPES:
        for size in _sizes(dtype, world):
            mine = numbers(dtype, (size,), rank, size)
            name = f"of {size} {dtype}"
            for group_calls in (_broadcasts, _gathers):
                found = group_calls(rank, world, mine, None)
                if dtype != torch.int16:
                    wanted = group_calls(rank, world, mine, gloo)
                else:
                    wanted = group_calls(rank, world, mine, None, as_bytes=True)
                for call, value in found.items():
                    check_same(f"{call} {name}", value, wanted[call])


def _broadcasts(rank, world, mine, group, as_bytes=False):
    found = {}
    for root in {0, world - 1}:
        tensor = mine.clone()
        dist.broadcast(tensor.view(torch.uint8) if as_bytes else tensor, root, group=group)
        found[f"broadcast from {root}"] = tensor
    return found


def _gathers(rank, world, mine, group, as_bytes=False):
    source = mine.view(torch.uint8) if as_bytes else mine
    room = [torch.empty_like(source) for _ in range(world)]
    dist.all_gather(room, source, group=group)
    whole = torch.empty(world * source.numel(), dtype=source.dtype)
    dist.all_gather_single(whole, source, group=group)
    return {"all_gather": torch.cat(room).view(mine.dtype),
            "all_gather_single": whole.view(mine.dtype)}


@pytest.mark.parametrize("world", WORLDS)
def test_broadcast_and_all_gather(world):
    run_ranks(world, _moves)


# Nothing adds these up, here or in Gloo; to move them, a type has only a size.
_MOVED_ONLY = (torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2,
               torch.complex32, torch.complex128)


def _move_any_type(rank, world):
    for dtype in _MOVED_ONLY:
        of_ranks = [numbers(torch.uint8, (6 * world * dtype.itemsize,), each).view(dtype)
                    for each in range(world)]
        mine = of_ranks[rank]
        for call, found in (_broadcasts(rank, world, mine, None)
                            | _gathers(rank, world, mine, None)).items():
            root = call.rpartition(" ")[2]
            wanted = of_ranks[int(root)] if root.isdigit() else torch.cat(of_ranks)
            check_same(f"{call} of {dtype}", found.view(torch.uint8), wanted.view(torch.uint8))
        _delegate_any_type(rank, world, of_ranks, dtype)


def _delegate_any_type(rank, world, of_ranks, dtype):
    parts = [each.view(world, 6) for each in of_ranks]
    mine, room = torch.zeros(6, dtype=dtype), torch.zeros(6 * world, dtype=dtype)
    dist.all_to_all_single(room, of_ranks[rank].clone())
    check_same(f"all_to_all_single of {dtype}", room.view(torch.uint8),
               torch.cat([part[rank].view(torch.uint8) for part in parts]))
    dist.scatter(mine, list(parts[0]) if rank == 0 else None, 0)
    check_same(f"scatter of {dtype}", mine.view(torch.uint8), parts[0][rank].view(torch.uint8))
    listed = [torch.zeros(6, dtype=dtype) for _ in range(world)]
    dist.gather(parts[rank][0].clone(), listed if rank == 0 else None, 0)
    for found, part in zip(listed, parts, strict=True):
        if rank == 0:
            check_same(f"gather of {dtype}", found.view(torch.uint8), part[0].view(torch.uint8))
    sent = dist.isend(of_ranks[rank], (rank + 1) % world)
    dist.recv(room, (rank - 1) % world)
    sent.wait()
    check_same(f"recv of {dtype}", room.view(torch.uint8),
               of_ranks[(rank - 1) % world].view(torch.uint8))


def test_types_that_are_only_moved():
    run_ranks(3, _move_any_type)


def _one_buffer_many_times(rank, world):
    buffer = torch.zeros(10)
    dist.all_gather([buffer] * world, torch.full((10,), float(rank)))
    assert float(buffer[0]) in range(world) and bool((buffer == buffer[0]).all())
    everything = torch.zeros(world, 10)
    everything[rank] = rank + 1
    dist.all_gather_single(everything.view(-1), everything[rank])
    assert torch.equal(everything[:, 0], torch.arange(1.0, world + 1))


@pytest.mark.parametrize("world", (1, 3))
def test_outputs_may_be_one_buffer_or_hold_the_input(world):
    run_ranks(world, _one_buffer_many_times)


def _many_to_one(rank, world):
    gloo = dist.new_group(backend="gloo")
    for dtype in (*FLOATS, torch.int8, torch.uint8, torch.int32, torch.int64):
        for size in SIZES[:-1]:
            root = (size + 1) % world
            wholes = [numbers(dtype, (world, size), each, size) for each in range(world)]
            name = f"of {size} {dtype}"
            answers = []
            for group in (None, gloo):
                room = [torch.zeros(size, dtype=dtype) for _ in range(world)]
                dist.gather(wholes[rank][0].clone(), room if rank == root else None, root, group)
                mine = torch.zeros(size, dtype=dtype)
                dist.scatter(mine, list(wholes[rank]) if rank == root else None, root, group)
                answers.append((torch.cat(room), mine))
            check_same("gather " + name, answers[0][0], answers[1][0])
            check_same("scatter " + name, answers[0][1], answers[1][1])
            check_same("scatter " + name, answers[0][1], wholes[root][rank])


@pytest.mark.parametrize("world", WORLDS)
def test_gather_and_scatter(world):
    run_ranks(world, _many_to_one)


def _splits(rank, world):
    """How many rows go to each rank, none to some."""
    return [(rank + to) % 3 for to in range(world)]


def _all_to_all(rank, world):
    gloo = dist.new_group(backend="gloo")
    ins = _splits(rank, world)  # symmetric in both ranks, so what is sent is what is received
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.uint8):
        even = numbers(dtype, (2 * world, 5), rank)
        uneven = numbers(dtype, (sum(ins), 5), rank)
        answers = []
        for group in (None, gloo):
            same = torch.zeros_like(even)
            dist.all_to_all_single(same, even, group=group)
            split = torch.zeros_like(uneven)
            dist.all_to_all_single(split, uneven, ins, ins, group=group)
            answers.append((same, split))
        check_same(f"all_to_all_single of {dtype}", answers[0][0], answers[1][0])
        check_same(f"all_to_all_single in parts of {dtype}", answers[0][1], answers[1][1])
        room = [torch.zeros(count, 5, dtype=dtype) for count in ins]
        dist.all_to_all(room, list(uneven.split(ins)))
        check_same(f"all_to_all of {dtype}", torch.cat(room), answers[1][1])


@pytest.mark.parametrize("world", WORLDS)
def test_all_to_all(world):
    run_ranks(world, _all_to_all)


def _point_to_point(rank, world):
    right, left = (rank + 1) % world, (rank - 1) % world
    for dtype in TYPES:
        mine, wanted = numbers(dtype, (1000,), rank), numbers(dtype, (1000,), left)
        found = torch.zeros_like(mine)
        sent = dist.isend(mine, right)
        dist.recv(found, left)
        sent.wait()
        check_same(f"recv of {dtype}", found, wanted)
    _send_with_tags(rank, left, right)
    if rank == 0:
        room = torch.zeros(3, dtype=torch.int64)
        senders = set()
        for _ in range(world - 1):
            sender = dist.recv(room)
            assert room.tolist() == [sender] * 3
            senders.add(sender)
        assert senders == set(range(1, world))
    else:
        dist.send(torch.full((3,), rank), 0)


def _long_messages(rank, world):
    """Of several pieces, two at once, from one rank that is known and from any."""
    sizes = (0, 65_528, 65_529, 300_000, 1_000_003)
    if rank != 0:
        works = [dist.isend(numbers(torch.float32, (size,), rank, size), 0) for size in sizes]
        for work in works:
            work.wait()
        return
    rooms = [torch.zeros(size) for size in sizes]
    works = [dist.irecv(room, 1) for room in rooms[:-1]]
    for work in reversed(works):
        work.wait()
    sender = dist.recv(rooms[-1])
    for room, size in zip(rooms, sizes, strict=True):
        check_same(f"{size} elements", room, numbers(torch.float32, (size,), sender, size))


def test_long_messages():
    run_ranks(2, _long_messages)


def _both_receive_before_they_send(rank, world):
    """Nobody waits for what comes before he has sent."""
    rooms = [torch.zeros(300_000) for _ in range(2)]
    works = [dist.irecv(room, 1 - rank) for room in rooms]
    for turn in range(2):
        dist.send(torch.full((300_000,), 10.0 * turn + rank), 1 - rank)
    for turn, (work, room) in enumerate(zip(works, rooms, strict=True)):
        work.wait()
        assert bool((room == 10.0 * turn + 1 - rank).all())


def test_receives_come_before_sends():
    run_ranks(2, _both_receive_before_they_send)


def _send_with_tags(rank, left, right):
    """Matched by their tags, and by their order where those are the same."""
    works = [dist.isend(torch.tensor([rank, tag, turn]), right, tag=tag)
             for tag in (1, 2) for turn in (0, 1)]
    for tag in (2, 1):
        for turn in (0, 1):
            room = torch.zeros(3, dtype=torch.int64)
            dist.irecv(room, left, tag=tag).wait()
            assert room.tolist() == [left, tag, turn]
    for work in works:
        work.wait()


@pytest.mark.parametrize("world", WORLDS[1:])
def test_send_and_recv(world):
    run_ranks(world, _point_to_point)


def _batched(rank, world):
    right, left = (rank + 1) % world, (rank - 1) % world
    room = [torch.zeros(100, dtype=torch.int64) for _ in range(2)]
    operations = [dist.P2POp(dist.irecv, room[0], left), dist.P2POp(dist.irecv, room[1], left),
                  dist.P2POp(dist.isend, numbers(torch.int64, (100,), rank, 1), right),
                  dist.P2POp(dist.isend, numbers(torch.int64, (100,), rank, 2), right)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    for seed in (1, 2):
        check_same("batch", room[seed - 1], numbers(torch.int64, (100,), left, seed))


@pytest.mark.parametrize("world", (2, 5))
def test_batches_of_send_and_recv(world):
    run_ranks(world, _batched)


def _objects(rank, world):
    mine = {"rank": rank, "text": "x" * (100 * rank)}
    everyones = [{"rank": each, "text": "x" * (100 * each)} for each in range(world)]
    found = [None] * world
    dist.all_gather_object(found, mine)
    assert found == everyones
    found = [mine, rank]
    dist.broadcast_object_list(found, src=world - 1)
    assert found == [everyones[-1], world - 1]
    found = [None] * world if rank == 0 else None
    dist.gather_object(mine, found, dst=0)
    assert found == (everyones if rank == 0 else None)
    found = [None]
    dist.scatter_object_list(found, everyones if rank == 0 else None, src=0)
    assert found == [mine]
    if world > 1 and rank == 0:
        dist.send_object_list([mine], dst=1)
    if rank == 1:
        found = [None]
        dist.recv_object_list(found, src=0)
        assert found == everyones[:1]


@pytest.mark.parametrize("world", WORLDS)
def test_objects(world):
    run_ranks(world, _objects)


def _barriers(rank, world):
    store = dist.distributed_c10d._get_default_store()
    for turn in range(20):
        store.add(f"came {turn}", 1)
        dist.barrier()
        assert store.add(f"came {turn}", 0) == world


@pytest.mark.parametrize("world", WORLDS)
def test_nobody_leaves_a_barrier_before_all_have_come(world):
    run_ranks(world, _barriers)


def _every_format(rank, world, wire):
    for dtype in FLOATS:
        for size in SIZES[:-1]:
            tensors = [numbers(dtype, (size,), each) for each in range(world)]
            for operation in ("SUM", "AVG"):
                found = tensors[rank].clone()
                dist.all_reduce(found, getattr(dist.ReduceOp, operation))
                expected.check_sum(f"{wire} {operation} of {size} {dtype}", found, tensors,
                                   operation, wire)


@pytest.mark.parametrize("wire", ("bfp32", "bfp16", "bfp8"))
def test_each_wire_format_keeps_its_bound(wire):
    run_ranks(3, _every_format, wire, options={"wire": wire})


def _everything_once(rank, world):
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int16, torch.bool):
        tensors = [numbers(dtype, (20_000,), each) for each in range(world)]
        found = tensors[rank].clone()
        dist.all_reduce(found)
        _check_reduction(f"all_reduce of {dtype}", found, tensors, "SUM")
        found = tensors[rank].clone()
        dist.reduce(found, 1, dist.ReduceOp.MAX)
        if rank == 1:
            _check_reduction(f"reduce of {dtype}", found, tensors, "MAX")
        _move_in_layout(rank, world, tensors, "plain", f"of {dtype}")
        dist.barrier()


def test_on_every_path(path):
    run_ranks(3, _everything_once, options=path)
