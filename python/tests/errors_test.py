# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong, every rank gets one exception in bounded time, which names the rank or the
option, what is wrong with it, and what would be right; and no interpreter aborts."""

import os
import socket
import time
import warnings

import pytest
import ranks
import torch
import torch.distributed as dist
from ranks import run_ranks

import infold
from infold import _c as extension
from infold import options as infold_options

# Of what must not take a deadline's time; generous, because machines are busy.
SOON_S = 20


def _message(call, name=""):
    """Of what it raises; it must."""
    try:
        call()
    except (RuntimeError, ValueError, TypeError, NotImplementedError) as error:
        return str(error)
    raise AssertionError(f"{name} has not raised")


# Section "ranks disagree": what rank 1 does, what the others do, and words of the message.


def _sizes(rank):
    dist.all_reduce(torch.ones(11 if rank == 1 else 10))


def _types(rank):
    dist.all_reduce(torch.ones(10, dtype=torch.int32 if rank == 1 else torch.float32))


def _operations(rank):
    dist.all_reduce(torch.ones(10), dist.ReduceOp.MAX if rank == 1 else dist.ReduceOp.SUM)


def _roots(rank):
    dist.broadcast(torch.ones(10), 1 if rank == 1 else 0)


def _roots_of_a_reduce(rank):
    dist.reduce(torch.ones(10), 1 if rank == 1 else 0)


def _calls(rank):
    if rank == 1:
        dist.broadcast(torch.ones(10), 0)
    else:
        dist.all_reduce(torch.ones(10))


def _calls_with_a_barrier(rank):
    if rank == 1:
        dist.all_reduce(torch.ones(10))
    else:
        dist.barrier()


def _operations_of_gloo(rank):
    dist.all_reduce(torch.ones(10), dist.ReduceOp.PRODUCT if rank == 1 else dist.ReduceOp.SUM)


def _calls_of_gloo(rank):
    part, whole = torch.ones(10), torch.ones(30)
    if rank == 1:
        dist.all_to_all_single(whole, torch.ones(30))
    else:
        dist.all_gather_single(whole, part)


def _gathering(rank):
    part = torch.ones(10)
    if rank == 1:
        dist.all_reduce(part)
    else:
        dist.gather(part, [torch.ones(10) for _ in range(3)] if rank == 0 else None)


def _parts(rank):
    part = torch.ones(11 if rank == 1 else 10)
    dist.all_gather_single(torch.ones(3 * part.numel()), part)


def _parts_of_a_sum(rank):
    part = torch.ones(11 if rank == 1 else 10)
    dist.reduce_scatter_single(part, torch.ones(3 * part.numel()))


_DISAGREEMENTS = {
    _sizes: ("all_reduce", "10 elements", "11 elements", "same size"),
    _types: ("all_reduce", "f32", "i32", "same type"),
    _operations: ("all_reduce", "sum", "max", "same operation"),
    _roots: ("broadcast", "root 0", "root 1", "same root"),
    _roots_of_a_reduce: ("reduce", "root 0", "root 1", "same root"),
    _calls: ("all_reduce", "broadcast", "same calls in the same order"),
    _calls_with_a_barrier: ("all_reduce", "barrier", "same calls in the same order"),
    _operations_of_gloo: ("all_reduce", "barrier", "Gloo"),
    _calls_of_gloo: ("barrier", "Gloo", "same calls in the same order"),
    _gathering: ("all_reduce", "barrier", "Gloo"),
    _parts: ("all_gather", "10 elements", "11 elements", "same size"),
    _parts_of_a_sum: ("reduce_scatter", "elements", "same size"),
}


def _disagreeing(rank, world, call, words):
    text = _message(lambda: call(rank))
    for word in ("rank 1", *words, "make new"):
        assert word in text, f"no '{word}' in: {text}"
    # And so does what comes later; the interpreter lives.
    assert "infold" in _message(lambda: dist.all_reduce(torch.ones(1)))
    _meet(rank, world, "disagreed")
    return text


def _meet(rank, world, where):
    """Without the group, which is broken."""
    store = dist.distributed_c10d._get_default_store()
    store.add(where, 1)
    while store.add(where, 0) < world:
        time.sleep(0.01)


@pytest.mark.parametrize("call", _DISAGREEMENTS, ids=lambda call: call.__name__.strip("_"))
def test_ranks_disagree(call):
    run_ranks(3, _disagreeing, call, _DISAGREEMENTS[call])


@pytest.mark.parametrize("call", (_sizes, _roots), ids=("sizes", "roots"))
def test_ranks_disagree_on_every_path(call, path):
    run_ranks(3, _disagreeing, call, _DISAGREEMENTS[call], options=path)


# Section "ranks disagree about what Gloo does": it would compare nothing, and wait, take other
# ranks' numbers for its own, or end the process. Nothing has begun, so that the group goes on.


def _products(rank):
    dist.all_reduce(torch.ones(11 if rank == 1 else 10), dist.ReduceOp.PRODUCT)


def _products_of_types(rank):
    dist.all_reduce(torch.ones(10, dtype=torch.int32 if rank == 1 else torch.float32),
                    dist.ReduceOp.PRODUCT)


def _bit_operations(rank):
    dist.all_reduce(torch.ones(10, dtype=torch.int64),
                    dist.ReduceOp.BXOR if rank == 1 else dist.ReduceOp.BAND)


def _roots_of_a_product(rank):
    dist.reduce(torch.ones(10), 1 if rank == 1 else 0, dist.ReduceOp.PRODUCT)


def _parts_of_a_product(rank):
    part = torch.ones(11 if rank == 1 else 10)
    dist.reduce_scatter_single(part, torch.ones(3 * part.numel()), dist.ReduceOp.PRODUCT)


def _lists_of_products(rank):
    tensors = [torch.ones(5), torch.ones(6)][::-1 if rank == 1 else 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the name is deprecated, and in use
        dist.all_reduce_coalesced(tensors, dist.ReduceOp.PRODUCT)


def _gathered_sizes(rank):
    part = torch.ones(11 if rank == 1 else 10)
    dist.gather(part, [torch.ones(10) for _ in range(3)] if rank == 0 else None)


def _gathered_at(rank):
    root = 1 if rank == 1 else 0
    dist.gather(torch.ones(10), [torch.ones(10) for _ in range(3)] if rank == root else None, root)


def _scattered_sizes(rank):
    dist.scatter(torch.ones(11 if rank == 1 else 10),
                 [torch.ones(10) for _ in range(3)] if rank == 0 else None)


def _gathered_and_exchanged(rank):
    if rank == 1:
        dist.all_to_all_single(torch.ones(30), torch.ones(30))
    else:
        dist.gather(torch.ones(10), [torch.ones(10) for _ in range(3)] if rank == 0 else None)


def _splits(rank):
    """Rank 1 sends rank 2 one row more than that expects."""
    ins = [2, 2, 3] if rank == 1 else [2, 2, 2]
    dist.all_to_all_single(torch.ones(6, 5), torch.ones(sum(ins), 5), [2, 2, 2], ins)


def _exchanged_lists(rank):
    parcels = [torch.ones(4 if rank == 1 and to == 2 else 3) for to in range(3)]
    dist.all_to_all([torch.ones(3) for _ in range(3)], parcels)


_DISAGREEMENTS_OF_GLOO = {
    _products: ("all_reduce", "11 elements", "10 elements", "same size"),
    _products_of_types: ("all_reduce", "Int", "Float", "same type"),
    _bit_operations: ("all_reduce", "BXOR", "BAND", "same operation"),
    _roots_of_a_product: ("reduce", "root 1", "root 0", "same root"),
    _parts_of_a_product: ("reduce_scatter", "11 elements", "10 elements", "same size"),
    _lists_of_products: ("all_reduce_coalesced", "same sizes"),
    _gathered_sizes: ("gather", "11 elements", "10 elements", "same size"),
    _gathered_at: ("gather", "root 1", "root 0", "same root"),
    _scattered_sizes: ("scatter", "11 elements", "10 elements", "same size"),
    _gathered_and_exchanged: ("called all_to_all", "called gather", "same calls in the same order"),
    _splits: ("all_to_all", "sends 15 elements to rank 2", "expects 10"),
    _exchanged_lists: ("all_to_all", "sends 4 elements to rank 2", "expects 3"),
}


def _disagreeing_about_gloo(rank, world, call, words):
    begun = time.monotonic()
    text = _message(lambda: call(rank))
    assert time.monotonic() - begun < SOON_S
    for word in ("rank 1", *words):
        assert word in text, f"no '{word}' in: {text}"
    for operation, total in ((dist.ReduceOp.SUM, 2.0 * world), (dist.ReduceOp.PRODUCT, 2.0**world)):
        tensor = torch.full((10,), 2.0)
        dist.all_reduce(tensor, operation)
        assert float(tensor[0]) == total


@pytest.mark.parametrize("call", _DISAGREEMENTS_OF_GLOO, ids=lambda call: call.__name__.strip("_"))
def test_ranks_disagree_about_what_gloo_does(call):
    run_ranks(3, _disagreeing_about_gloo, call, _DISAGREEMENTS_OF_GLOO[call], timeout_s=100)


def _messages(rank, world, sent, expected):
    """Of one piece and of several, longer and shorter, of another type; the process must live."""
    if rank == 0:
        works = [dist.isend(sent, 1)]
    else:
        room = torch.zeros_like(expected)
        text = _message(lambda: dist.recv(room, 0))
        for word in ("recv: rank 0 sent", f"{sent.numel()} elements", f"rank {rank} expects",
                     f"{room.numel()} elements", "same size and type"):
            assert word in text, f"no '{word}' in: {text}"
        assert not room.any()
    _meet(rank, world, "sent")
    if rank == 0:
        del works


_SENT = torch.ones(10)


@pytest.mark.parametrize(("sent", "expected"), (
    (_SENT, torch.ones(9)), (_SENT, torch.ones(11)), (_SENT, torch.ones(10, dtype=torch.int32)),
    (_SENT, torch.ones(100_000)), (torch.ones(100_000), _SENT), (torch.ones(300_000),
                                                                 torch.ones(299_999)),
    (torch.ones(0), _SENT)), ids=lambda each: f"{each.numel()}_{str(each.dtype)[6:]}")
def test_messages_that_do_not_fit(sent, expected):
    run_ranks(2, _messages, sent, expected, timeout_s=10)


def _barrier_and_product(rank, world):
    """A barrier is what the two have in common; what comes next is not."""
    if rank == 1:
        text = _message(lambda: dist.all_reduce(torch.ones(10), dist.ReduceOp.PRODUCT))
    else:
        text = _message(lambda: [dist.barrier(), dist.all_reduce(torch.ones(10))])
    assert "rank 1" in text or "rank 0" in text, text
    assert "all ranks must" in text, text
    _meet(rank, world, "disagreed")


def test_a_barrier_is_no_call_of_gloos():
    run_ranks(3, _barrier_and_product, timeout_s=100)


# Section "bad tensors": refused before anything is sent, so that the group lives on.

_REFUSED = (
    (lambda: dist.broadcast(torch.eye(3).to_sparse(), 0), "Sparse"),
    (lambda: dist.all_reduce(torch.eye(3).to_sparse_csr()), "Sparse"),
    (lambda: dist.all_gather([torch.ones(3)], torch.ones(3)), "the list has 1 tensors"),
    (lambda: dist.all_gather_single(torch.ones(7), torch.ones(3)), "it must have 6"),
    (lambda: dist.all_gather_single(torch.ones(6, dtype=torch.int32), torch.ones(3)),
     "must be of one type"),
    (lambda: dist.reduce_scatter_single(torch.ones(3), torch.ones(7)), "it must have 6"),
    (lambda: dist.all_to_all([torch.ones(1)], [torch.ones(1)]), "it must have 2"),
    (lambda: dist.all_to_all_single(torch.ones(3), torch.ones(2)), "a tensor has 3 rows"),
    (lambda: dist.all_to_all_single(torch.ones(4), torch.ones(4), [1, 2], [2, 2]), "come to 3"),
    (lambda: dist.all_to_all_single(torch.ones(4), torch.ones(4), [5, -1], [2, 2]), "0 or more"),
    (lambda: dist.all_reduce(torch.ones(3).to(torch.float8_e4m3fn)), "convert it"),
    (lambda: dist.all_reduce(torch.ones(3), dist.ReduceOp.BAND), "only integers"),
    (lambda: dist.reduce(torch.ones(3), 0, dist.ReduceOp.BXOR), "only integers"),
    (lambda: dist.all_reduce(torch.ones(3, dtype=torch.int32), dist.ReduceOp.AVG),
     "use SUM and divide"),
    (lambda: dist.reduce_scatter_single(torch.ones(3, dtype=torch.int32),
                                        torch.ones(6, dtype=torch.int32), dist.ReduceOp.AVG),
     "use SUM and divide"),
    (lambda: dist.all_reduce(torch.ones(3, dtype=torch.complex64), dist.ReduceOp.MAX), "MAX"),
    (lambda: dist.all_reduce(None), ""),
)


def _refused(rank, world):
    for number, (call, word) in enumerate(_REFUSED):
        text = _message(call, f"#{number}")
        assert word in text, f"#{number}: no '{word}' in: {text[:400]}"
    tensor = torch.ones(10)
    dist.all_reduce(tensor)
    assert float(tensor[0]) == world


def test_bad_tensors_are_refused_and_the_group_lives():
    run_ranks(2, _refused)


def _root_that_is_none(rank, world):
    text = _message(lambda: dist.broadcast(torch.ones(3), 7))
    assert "7" in text and "0 to 1" in text, text


def test_a_root_that_is_no_rank():
    run_ranks(2, _root_that_is_none)


# Section "nobody there".


def _closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def _missing_switch(rank, world, address):
    begun = time.monotonic()
    text = _message(lambda: dist.all_reduce(torch.ones(10)))
    assert address in text, text
    assert time.monotonic() - begun < SOON_S
    assert address in _message(lambda: dist.all_reduce(torch.ones(10)))


def test_a_switch_that_is_missing():
    address = f"127.0.0.1:{_closed_port()}"
    run_ranks(2, _missing_switch, address, options={"switches": [address]}, timeout_s=600)


def test_one_of_two_switches_that_is_missing(one_switch):
    address = f"127.0.0.1:{_closed_port()}"
    run_ranks(2, _missing_switch, address, timeout_s=600,
              options={"switches": [one_switch.switches[0], address]})


def _one_never_comes(rank, world, has_joined):
    if has_joined:
        dist.all_reduce(torch.ones(1))
    if rank != 1:
        begun = time.monotonic()
        text = _message(lambda: dist.all_reduce(torch.ones(10)))
        assert time.monotonic() - begun < SOON_S
        assert "rank 1" in text or "1 of the job's" in text, text
    # Rank 1 is alive all the time.
    _meet(rank, world, "gave up")


@pytest.mark.parametrize("has_joined", (False, True), ids=("at_first", "later"))
def test_a_rank_that_never_comes(has_joined, path):
    run_ranks(3, _one_never_comes, has_joined, options=path, timeout_s=2)


def _rank_0_never_comes(rank, world):
    if rank != 0:
        text = _message(lambda: dist.all_reduce(torch.ones(10)))
        assert "rank 0" in text, text
    _meet(rank, world, "gave up")


def test_rank_0_never_comes(path):
    run_ranks(2, _rank_0_never_comes, options=path, timeout_s=2)


def _one_dies(rank, world, dying):
    """In the middle: it has begun a call that cannot end without the others."""
    tensor = torch.ones(10)
    dist.all_reduce(tensor)
    if rank == dying:
        dist.all_reduce(torch.ones(10), async_op=True)
        os._exit(0)
    begun = time.monotonic()
    text = _message(lambda: [dist.all_reduce(torch.ones(10)) for _ in range(1000)])
    assert f"rank {dying}" in text, text
    assert time.monotonic() - begun < SOON_S
    _meet(rank, world - 1, "survived")  # who leaves early is a reason to fail, too


def _check_death(dying, options):
    with pytest.raises(ranks.RankFailed) as failure:
        run_ranks(3, _one_dies, dying, options=options, timeout_s=100)
    # Nobody but the dead one, which has not answered.
    assert str(failure.value).strip() == f"rank {dying} of 3:\nEOFError()"


@pytest.mark.parametrize("dying", (1, 2))
def test_a_rank_that_dies(dying, path):
    _check_death(dying, path)


def test_rank_0_dies_at_a_switch(one_switch):
    _check_death(0, one_switch)


# Section "options". Values of all kinds in all places.

_WRONG_VALUES = {
    "switches": ("10.0.0.1:7700", ["nowhere"], 5),
    "job": (5,),
    "wire": ("bfp64", 16),
    "layout": ("sparse", True),
    "sites": ("nowhere", True),
    "deadline": (0, -1, "soon", True),
    "address": (127,),
    "mtu_bytes": ("1500", True, 1.5),
    "shared_memory": ("maybe", False),
    "switch_weight": ("1", True),
    "worker_weight": ("1", True),
    "verify": (1, "yes"),
    "rejoin": (0, "no"),
}


def _refusal(options):
    """What init_process_group() says of them."""
    try:
        return _message(lambda: dist.init_process_group(
            "infold", store=dist.HashStore(), rank=0, world_size=1, pg_options=options))
    finally:
        assert not dist.is_initialized()


def _refuse_values(rank, world):
    for name, values in _WRONG_VALUES.items():
        for value in values:
            for options in ({name: value}, infold.Options(**{name: value})):
                text = _refusal(options)
                assert name in text and "allowed" in text, f"{name}={value!r}: {text}"


def test_wrong_values_are_refused():
    assert set(_WRONG_VALUES) == set(infold_options._NAMES)
    run_ranks(1, _refuse_values, backend=None)


def _refuse_limits(rank, world):
    for name, values in (("mtu_bytes", (1, 100_000)), ("switch_weight", (0, 65)),
                         ("worker_weight", (0, 65))):
        for value in values:
            text = _refusal({name: value, "sites": "workers"})
            assert name in text and "allowed" in text, f"{name}={value!r}: {text}"


def test_numbers_beyond_limits_are_refused():
    run_ranks(1, _refuse_limits, backend=None)


def test_words_are_those_of_the_extension():
    assert infold_options._WORDS == {
        "wire": extension.WIRES, "layout": extension.LAYOUTS, "sites": extension.SITES,
        "shared_memory": extension.SHARED_MEMORY}


def _refuse_names(rank, world):
    assert "did you mean 'wire'" in _refusal({"wires": "bfp16"})
    assert "allowed: switches, job" in _refusal({"xyz": 1})
    assert "pass infold.Options" in _refusal("bfp16")
    assert "wires" in _message(lambda: infold.Options(wires="bfp16"))
    assert "no switch is named" in _refusal({"sites": "switches"})
    assert "INFOLD_SWITCHES" in _refusal({"sites": "mixed"})


def test_wrong_names_are_refused():
    run_ranks(1, _refuse_names, backend=None)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Writes a file and has INFOLD_CONFIG name it."""
    def write(text):
        path = tmp_path / "infold.toml"
        path.write_text(text, encoding="utf-8")
        monkeypatch.setenv("INFOLD_CONFIG", str(path))
        return str(path)
    return write


@pytest.mark.parametrize(("variable", "value"), (
    ("INFOLD_MTU", "large"), ("INFOLD_DEADLINE", "soon"), ("INFOLD_DEADLINE", "-1"),
    ("INFOLD_VERIFY", "yes"), ("INFOLD_REJOIN", "2"), ("INFOLD_SWITCHES", "nowhere"),
    ("INFOLD_SWITCH_WEIGHT", "many"), ("INFOLD_WIRE", "bfp64"), ("INFOLD_SITES", "nowhere"),
    ("INFOLD_LAYOUT", "sparse"), ("INFOLD_SHARED_MEMORY", "maybe")))
def test_wrong_environment(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    run_ranks(1, _refuse_all, (variable, value, "allowed"), backend=None)


def _refuse_all(rank, world, words):
    text = _refusal(None)
    for word in words:
        assert word in text, f"no '{word}' in: {text}"


@pytest.mark.parametrize(("text", "words"), (
    ("wires = 'bfp16'", ("did you mean 'wire'",)),
    ("wire = 16", ("wire is 16", "allowed")),
    ("wire = 'bfp64'", ("wire", "bfp64", "allowed: automatic")),
    ("switches = 'a:1'", ("switches is 'a:1'", "allowed")),
    ("deadline = 0", ("deadline is 0", "more than 0")),
    ("verify = 1", ("verify is 1", "True or False")),
    ("wire = ", ("is not TOML",)),
    ("sites = 'switches'", ("no switch is named",))))
def test_wrong_file(config, text, words):
    path = config(text)
    near = () if "no switch" in words[0] else (path,)
    run_ranks(1, _refuse_all, (*words, *near), backend=None)


def test_a_file_that_is_missing(monkeypatch):
    monkeypatch.setenv("INFOLD_CONFIG", "/nowhere/infold.toml")
    run_ranks(1, _refuse_all, ("INFOLD_CONFIG", "/nowhere/infold.toml"), backend=None)


def test_where_an_option_is_taken_from(config, monkeypatch):
    settle = infold_options.settle
    assert settle(None)["job"] == "torch"
    config("job = 'file'\nwire = 'bfp8'\nmtu_bytes = 9000\nswitches = ['s:1']\ndeadline = 5")
    assert settle(None)["job"] == "file"
    monkeypatch.setenv("INFOLD_JOB", "environment")
    monkeypatch.setenv("INFOLD_MTU", "1500")
    monkeypatch.setenv("INFOLD_SWITCHES", "t:1, t:2")
    monkeypatch.setenv("INFOLD_VERIFY", "1")
    monkeypatch.setenv("INFOLD_DEADLINE", "2.5")
    settled = settle(None)
    assert settled["job"] == "environment" and settled["mtu_bytes"] == 1500
    assert settled["switches"] == ["t:1", "t:2"] and settled["verify"] is True
    assert settled["wire"] == "bfp8" and settled["deadline"] == 2.5
    assert settled["sites"] == "switches"
    default = infold.Options(job="default", address="10.0.0.1")
    assert settle(None, default)["job"] == "default"
    settled = settle({"job": "own", "verify": False}, default)
    assert settled["job"] == "own" and settled["address"] == "10.0.0.1"
    assert settled["verify"] is False and settled["switches"] == ["t:1", "t:2"]
    assert settle({"job": None}, default)["job"] == "default"
    assert settle(infold.Options(switches=[]), default)["sites"] == "workers"


def _inherit(rank, world):
    """A group made later, without options, has the default group's."""
    group = dist.new_group()
    for each in (None, group):
        dist.all_reduce(torch.ones(10), group=each)
    return infold.statistics(group)["contributions_on_network"]


def test_groups_have_the_default_groups_options(monkeypatch):
    assert run_ranks(2, _inherit, options={"shared_memory": "off"}) == [2, 2]
    assert run_ranks(2, _inherit) == [0, 0]
    monkeypatch.setenv("INFOLD_SHARED_MEMORY", "off")
    assert run_ranks(2, _inherit) == [2, 2]
    assert run_ranks(2, _inherit, options={"shared_memory": "auto"}) == [0, 0]
