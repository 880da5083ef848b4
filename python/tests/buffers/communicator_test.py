# SPDX-License-Identifier: Apache-2.0
"""infold.Communicator over the buffer protocol. Cases with two ranks run them as threads of this
process. Cases of whole programs run where torch cannot be imported."""

import array
import concurrent.futures
import os
import pickle
import subprocess
import sys
import textwrap

import numpy
import pytest
from ranks import free_port

import infold


def at_all(ranks, body):
    """Runs body(rank, communicator) in a thread for each rank; returns the answers in order."""
    with concurrent.futures.ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(body, range(len(ranks)), ranks))


@pytest.fixture
def pair():
    ranks = infold.Communicator.local_group(2, deadline=30, loss=0.01)
    yield ranks
    for rank in ranks:
        rank.close()


def program(text, **variables):
    """Runs a Python program that cannot import torch."""
    no_torch = "import sys; sys.modules['torch'] = None\n"
    return subprocess.Popen(
        [sys.executable, "-c", no_torch + textwrap.dedent(text)],
        env=os.environ | variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


NUMPY_TYPES = ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"]


@pytest.mark.parametrize("name", NUMPY_TYPES)
def test_sums_each_type_in_place(pair, name):
    def body(rank, communicator):
        tensor = numpy.arange(100, dtype=name).reshape(4, 25) % 32
        assert communicator.all_reduce(tensor) is tensor
        return tensor

    wanted = 2 * (numpy.arange(100, dtype=name).reshape(4, 25) % 32)
    for answer in at_all(pair, body):
        numpy.testing.assert_array_equal(answer, wanted)


def test_takes_whatever_has_the_buffer_protocol(pair):
    def body(rank, communicator):
        numbers = array.array("l", [1, 2, 3])
        communicator.all_reduce(numbers)
        octets = bytearray(b"\x01\x02")
        communicator.all_reduce(memoryview(octets), reduction="or")
        octets += b"!"  # nothing holds its memory any more
        into = array.array("d", [0.0])
        communicator.all_reduce(array.array("d", [0.5 + rank]), into, reduction="max")
        return list(numbers), bytes(octets), into[0]

    assert at_all(pair, body) == [([2, 4, 6], b"\x01\x02!", 1.5)] * 2


def test_sums_bf16_as_bits(pair):
    one, two = 0x3F80, 0x4000

    def body(_rank, communicator):
        tensor = numpy.full(64, one, dtype=numpy.uint16)
        return communicator.all_reduce(tensor, dtype="bf16")

    for answer in at_all(pair, body):
        assert (answer == two).all()


def test_every_other_call(pair):
    def body(rank, communicator):
        assert (communicator.rank, communicator.world) == (rank, 2)
        root = numpy.array([7 + rank], dtype=numpy.int32)
        communicator.broadcast(root, root=1)
        total = numpy.zeros(1, dtype=numpy.int32)
        communicator.reduce(numpy.array([5], dtype=numpy.int32), total, root=0)
        parts = communicator.all_gather(
            numpy.array([rank], dtype=numpy.int64), numpy.zeros(2, dtype=numpy.int64)
        )
        mine = communicator.reduce_scatter(
            numpy.array([1.0, 3.0]), numpy.zeros(1), reduction="average"
        )
        communicator.barrier()
        return root[0], total[0], list(parts), mine[0]

    assert at_all(pair, body) == [(8, 10, [0, 1], 1.0), (8, 0, [0, 1], 3.0)]


def test_a_handle_waits(pair):
    tensor = numpy.ones(10, dtype=numpy.float32)
    early = pair[0].all_reduce(tensor, async_op=True)
    with pytest.raises(TimeoutError, match="is not done after"):
        early.wait(timeout=0.001)
    assert not early.done()
    pair[1].all_reduce(numpy.ones(10, dtype=numpy.float32))
    assert early.wait() is tensor
    assert early.done() and tensor[0] == 2


def test_a_deadline_is_a_timeout(pair):
    with pytest.raises(infold.DeadlineExceeded) as caught:
        pair[0].barrier(deadline=0.05)
    assert isinstance(caught.value, TimeoutError)
    assert caught.value.code == "deadline_exceeded"
    assert pickle.loads(pickle.dumps(caught.value)).code == "deadline_exceeded"


def test_ranks_that_disagree_are_named(pair):
    def body(rank, communicator):
        with pytest.raises(infold.Error) as caught:
            communicator.all_reduce(numpy.ones(3 + rank))
        return caught.value.code

    assert set(at_all(pair, body)) <= {"mismatch", "aborted"}


@pytest.mark.parametrize(
    "arguments, words",
    [
        ((numpy.ones((4, 4))[:, 1],), "contiguous"),
        ((b"read only",), "writable"),
        ((numpy.ones(2, dtype=numpy.uint16),), "format 'H'; allowed: float16"),
        ((numpy.ones(2, dtype=">f4"),), "format '>f'"),
        (([1, 2],), "buffer protocol"),
        ((numpy.ones(2), numpy.ones(2, dtype=numpy.float32)), "f64 and the output f32"),
    ],
)
def test_refuses_other_tensors(pair, arguments, words):
    with pytest.raises(TypeError, match=words):
        pair[0].all_reduce(*arguments)


@pytest.mark.parametrize(
    "options, words",
    [
        ({"reduction": "product"}, "allowed: sum, average, min, max, or"),
        ({"wire": "f32"}, "allowed: automatic, bfp32"),
        ({"deadline": 0}, "more than 0 seconds"),
        ({"deadline": float("nan")}, "more than 0 seconds"),
        ({"output": numpy.ones(3)}, "2 elements and the output 3"),
    ],
)
def test_refuses_other_options(pair, options, words):
    with pytest.raises(ValueError, match=words):
        pair[0].all_reduce(numpy.ones(2), **options)


def test_refuses_bits_of_floats(pair):
    with pytest.raises(infold.InvalidArgument) as caught:
        pair[0].all_reduce(array.array("f", [1]), reduction="or")
    assert caught.value.code == "unsupported"


def test_a_closed_one_says_so(pair):
    pair[0].close()
    pair[0].close()
    with pytest.raises(ValueError, match="is closed"):
        pair[0].barrier()


# This runs in another process, because this one forks the ranks of other tests, and gRPC's threads
# do not survive a fork.
ALONE = """
    import infold
    try:
        infold.Communicator.join(rendezvous="127.0.0.1:0", rank=0, world=2, deadline=0.2)
    except infold.DeadlineExceeded as error:
        print(error.code, "rank" in str(error))
"""


def test_joining_alone_fails_with_what_is_missing():
    out, errors = program(ALONE).communicate(timeout=120)
    assert out == "deadline_exceeded True\n", errors
    with pytest.raises(ValueError, match="sites is 'here'"):
        infold.Communicator.join(sites="here")


@pytest.mark.parametrize("module", ["compress", "hooks", "trace"])
def test_parts_for_torch_say_that_it_is_missing(module):
    for line in (f"from infold import {module}", f"import infold.{module}"):
        _, errors = program(line).communicate(timeout=60)
        last = errors.splitlines()[-1]
        assert last == f"ImportError: infold.{module} is for PyTorch, and torch is not installed"


THREE_LINES = """
    import array, infold, os
    assert not hasattr(infold, "hooks")
    x = array.array("f", [1, 2, 3])
    with infold.Communicator.join(rendezvous=os.environ["AT"], deadline=60) as job:
        job.all_reduce(x)
        print(job.rank, list(x))
"""


def test_three_lines_in_programs_without_torch():
    at = f"127.0.0.1:{free_port()}"
    ranks = [
        program(
            THREE_LINES, AT=at, INFOLD_RANK=str(rank), INFOLD_WORLD="2", INFOLD_SHARED_MEMORY="off"
        )
        for rank in range(2)
    ]
    for rank, process in enumerate(ranks):
        out, errors = process.communicate(timeout=120)
        assert out == f"{rank} [2.0, 4.0, 6.0]\n", errors


# The child ends like any program, so exit handlers and destructors run there.
FORKS = """
    import array, infold, os, signal, sys
    job = infold.Communicator.join(rendezvous=os.environ["AT"], deadline=60)
    handle = job.all_reduce(array.array("f", [0]), async_op=True)
    child = os.fork() if job.rank == 0 else None
    if child == 0:
        signal.alarm(60)
        for call in (lambda: job.all_reduce(array.array("f", [100])), job.barrier, handle.wait):
            try:
                call()
            except infold.InvalidArgument as error:
                print(f"was forked from process {os.getppid()}" in str(error), handle.done())
        sys.exit(7)
    handle.wait()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(job.all_reduce(array.array("f", [1])).tolist())
    job.barrier()
"""


def test_a_forked_child_is_refused_and_its_parent_goes_on():
    at = f"127.0.0.1:{free_port()}"
    ranks = [
        program(FORKS, AT=at, INFOLD_RANK=str(rank), INFOLD_WORLD="2", INFOLD_SHARED_MEMORY="off")
        for rank in range(2)
    ]
    out, errors = ranks[0].communicate(timeout=120)
    assert out == 3 * "True True\n" + "7\n[2.0]\n", errors
    out, errors = ranks[1].communicate(timeout=120)
    assert out == "[2.0]\n", errors


# Ctrl-C always comes while the function runs, because the timer waits until it has begun.
INTERRUPTS = """
    import array, infold, signal
    from infold._library import library

    def interrupt_in(name):
        real, begun = getattr(library, name), []
        def function(*arguments):
            begun.append(name)
            return real(*arguments)
        def on_alarm(_number, _frame):
            if begun:
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise KeyboardInterrupt
        setattr(library, name, function)
        signal.signal(signal.SIGALRM, on_alarm)
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
"""
WAITS = (
    INTERRUPTS
    + """
    job, other = infold.Communicator.local_group(2, deadline=600)
    interrupt_in("infold_wait_for")
    try:
        job.all_reduce(array.array("f", [1]))
    except KeyboardInterrupt:
        print("interrupted")
    try:
        other.barrier()
    except infold.Error as error:
        print(error.code, error.rank)
"""
)
JOINS = (
    INTERRUPTS
    + """
    interrupt_in("infold_join")
    try:
        infold.Communicator.join(rendezvous="127.0.0.1:0", rank=0, world=2, deadline=600)
    except KeyboardInterrupt:
        print("interrupted")
"""
)


@pytest.mark.parametrize(
    "text, lines",
    [(WAITS, ["interrupted", "cancelled 0"]), (JOINS, ["interrupted"])],
    ids=["call", "join"],
)
def test_ctrl_c_ends_waiting(text, lines):
    out, errors = program(text).communicate(timeout=60)
    assert out.splitlines() == lines, errors
