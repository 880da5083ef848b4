# SPDX-License-Identifier: Apache-2.0
"""One rank of a job whose ranks sum tensors inside the network, for Python without PyTorch.

Tensors are objects with the buffer protocol: numpy's arrays, array.array, memoryview. The n-th call
of a rank is paired with the n-th call of every other rank. All of them must have the same size,
type, operation and root. Any thread may call any method. Threads that share a communicator must
make their calls in the same order on every rank. In a process that was forked from the one that
joined, every call raises InvalidArgument.

A failed call raises infold.Error and ends the job on every rank: join again. Ctrl-C during a
blocking call cancels the call and ends the job.
"""

import ctypes
import threading
import weakref

from infold import _library
from infold._buffers import Buffer
from infold._library import check, library, nanoseconds, number_of

# A waiting thread stays in C for this long before Python looks for signals, such as Ctrl-C.
_SLICE_NS = 100_000_000


class Handle:
    """A call in flight. Its tensors belong to infold until it is done: do not change inputs, and do
    not read outputs. Destroying a handle waits for the end of its call."""

    def __init__(self, pointer, buffers, result):
        self._pointer, self._buffers, self._result = pointer, buffers, result
        self._end = weakref.finalize(self, _end_call, pointer, buffers)
        self._end.atexit = False  # at exit the communicator leaves the job, which ends its calls

    def wait(self, timeout=None):
        """Waits, and returns the call's output. Raises the call's error, or TimeoutError after
        `timeout` seconds. After a TimeoutError the call is still in flight."""
        left = None if timeout is None else nanoseconds(timeout, "timeout")
        while True:
            now = _SLICE_NS if left is None else min(_SLICE_NS, left)
            code = library.infold_wait_for(self._pointer, now, None)
            if code != _library.PENDING:
                check(code)
                return self._result
            if left is not None:
                left -= now
                if left <= 0:
                    raise TimeoutError(f"infold: {library.infold_error_message().decode()}")

    def done(self):
        """Whether the call has ended, in success or failure."""
        return library.infold_test(self._pointer) == 1

    def cancel(self):
        """Cancels the call, which ends the job on all ranks."""
        library.infold_cancel(self._pointer)


def _end_call(pointer, buffers):
    library.infold_handle_destroy(pointer)
    for buffer in buffers:
        buffer.release()


class Communicator:
    """A rank of a job, made by join(), or by local_group() for ranks that are threads of one
    process."""

    def __init__(self, pointer):
        self._pointer = pointer
        self._end = weakref.finalize(self, library.infold_communicator_destroy, pointer)

    @classmethod
    def join(
        cls,
        *,
        switches=(),
        rendezvous=None,
        rank=None,
        world=None,
        job=None,
        address=None,
        host=None,
        sites="automatic",
        switch_weight=1,
        worker_weight=1,
        mtu_bytes=0,
        offload=True,
        drivers=0,
        shared_memory="auto",
        verify=False,
        rejoin=True,
        wire="automatic",
        deadline=10.0,
    ):
        """Blocks until all ranks have joined, for at most `deadline` seconds. Missing options come
        from the environment: INFOLD_RANK, INFOLD_WORLD, INFOLD_RENDEZVOUS, INFOLD_SWITCHES, and the
        variables of torchrun, Open MPI, PMI and Slurm. infold/join_options.h describes each option.

        switches     join addresses of the switches, "host:port", strings to join with, or "@path"
        rendezvous   without switches: the address at which rank 0 listens, "host:port"
        deadline     seconds for joining and for each call
        """
        options = library.infold_join_options_default()
        names = [_bytes(each, "switches") for each in _list_of(switches)]
        options.switches = (ctypes.c_char_p * len(names))(*names)
        options.switch_count = len(names)
        for name, value in (
            ("rendezvous", rendezvous),
            ("job", job),
            ("address", address),
            ("host", host),
        ):
            setattr(options, name, None if value is None else _bytes(value, name))
        options.rank = -1 if rank is None else _integer(rank, "rank")
        options.world = 0 if world is None else _integer(world, "world")
        options.sites = number_of(sites, _library.SITES, "sites")
        options.switch_weight = _integer(switch_weight, "switch_weight")
        options.worker_weight = _integer(worker_weight, "worker_weight")
        options.mtu_bytes = _integer(mtu_bytes, "mtu_bytes")
        options.drivers = _integer(drivers, "drivers")
        options.offload, options.verify, options.rejoin = bool(offload), bool(verify), bool(rejoin)
        options.shared_memory = number_of(shared_memory, _library.SHARED_MEMORY, "shared_memory")
        options.wire = number_of(wire, _library.WIRES, "wire")
        options.deadline_ns = nanoseconds(deadline, "deadline")
        return cls(_join(options))

    @classmethod
    def local_group(cls, world, *, deadline=10.0, loss=0.0, seed=1):
        """Returns a list of communicators for a job inside this process, one for each thread. The
        network in memory loses the fraction `loss` of its packets."""
        options = library.infold_local_group_options_default()
        options.world = _integer(world, "world")
        options.deadline_ns = nanoseconds(deadline, "deadline")
        options.loss, options.seed = float(loss), seed
        made = (ctypes.c_void_p * max(1, options.world))()
        check(library.infold_local_group_create(ctypes.byref(options), made))
        return [cls(pointer) for pointer in made]

    def close(self):
        """Leaves the job. Calls in flight fail at all ranks. May be called repeatedly."""
        self._end()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()

    @property
    def rank(self):
        return library.infold_rank(self._open())

    @property
    def world(self):
        return library.infold_world(self._open())

    @property
    def interface(self):
        """The address and interface of outgoing packets, such as "10.0.0.3 (eth1)"; empty if there
        are none."""
        return library.infold_interface(self._open()).decode()

    # The calls. Each blocks and returns its output. With async_op=True, it returns a Handle at
    # once. All calls take the options wire, priority, layout and deadline (infold/options.h), and
    # dtype="bf16" for tensors of uint16 that hold bfloat16.

    def all_reduce(
        self, tensor, output=None, *, reduction="sum", dtype=None, async_op=False, **options
    ):
        """Every rank's output becomes the reduction of all tensors: sum, average, min, max or
        bitwise or. Without an output, the result replaces the tensor."""
        into = tensor if output is None else output
        source, target = _pair(tensor, into, dtype)
        _same_size(source, target)
        return self._start(
            library.infold_all_reduce,
            into,
            (source, target),
            async_op,
            (source.address, target.address, source.elements),
            source.type,
            (),
            reduction,
            options,
        )

    def reduce(
        self, tensor, output=None, *, root=0, reduction="sum", dtype=None, async_op=False, **options
    ):
        """The root's output becomes the reduction. The other ranks' outputs do not change."""
        into = tensor if output is None else output
        source, target = _pair(tensor, into, dtype)
        _same_size(source, target)
        return self._start(
            library.infold_reduce,
            into,
            (source, target),
            async_op,
            (source.address, target.address, source.elements),
            source.type,
            (_integer(root, "root"),),
            reduction,
            options,
        )

    def broadcast(self, tensor, *, root=0, dtype=None, async_op=False, **options):
        """Every rank's tensor becomes a copy of the root's, bit for bit."""
        target = Buffer(tensor, "the tensor", dtype, writable=True)
        return self._start(
            library.infold_broadcast,
            tensor,
            (target,),
            async_op,
            (target.address, target.elements),
            target.type,
            (_integer(root, "root"),),
            "sum",
            options,
        )

    def all_gather(self, tensor, output, *, dtype=None, async_op=False, **options):
        """Every rank's output becomes the tensors of all ranks in their order, bit for bit."""
        part, whole = _pair(tensor, output, dtype)
        _parts(whole, part, self.world, "the output")
        return self._start(
            library.infold_all_gather,
            output,
            (part, whole),
            async_op,
            (part.address, whole.address, part.elements),
            part.type,
            (),
            "sum",
            options,
        )

    def reduce_scatter(
        self, tensor, output, *, reduction="sum", dtype=None, async_op=False, **options
    ):
        """Cuts the reduction into one part for each rank. Each rank's output gets its part."""
        whole, part = _pair(tensor, output, dtype)
        _parts(whole, part, self.world, "the tensor")
        return self._start(
            library.infold_reduce_scatter,
            output,
            (whole, part),
            async_op,
            (whole.address, part.address, part.elements),
            part.type,
            (),
            reduction,
            options,
        )

    def barrier(self, *, async_op=False, **options):
        """Returns after every rank has called it."""
        return self._start(library.infold_barrier, None, (), async_op, (), None, (), "sum", options)

    def _open(self):
        if not self._end.alive:
            raise ValueError("infold: this communicator is closed")
        return self._pointer

    def _start(
        self, function, result, buffers, async_op, memory, type_name, more, reduction, options
    ):
        call = _call_options(reduction, **options)
        types = () if type_name is None else (_library.TYPES.index(type_name),)
        pointer = ctypes.c_void_p()
        check(
            function(
                self._open(), *memory, *types, *more, ctypes.byref(call), ctypes.byref(pointer)
            )
        )
        handle = Handle(pointer, buffers, result)
        if async_op:
            return handle
        try:
            return handle.wait()
        except KeyboardInterrupt:
            handle.cancel()
            raise
        finally:
            handle._end()


def _call_options(
    reduction, *, wire="automatic", priority="automatic", layout="dense", deadline=None
):
    call = library.infold_call_options_default()
    call.op = number_of(reduction, _library.REDUCTIONS, "reduction")
    call.wire = number_of(wire, _library.WIRES, "wire")
    call.priority = number_of(priority, _library.PRIORITIES, "priority")
    call.layout = number_of(layout, _library.LAYOUTS, "layout")
    if deadline is not None:
        call.deadline_ns = nanoseconds(deadline, "deadline")
    return call


def _join(options):
    """Joins in another thread, so that the caller notices Ctrl-C and can stop joining."""
    stop, found, failed = ctypes.c_void_p(), ctypes.c_void_p(), []
    check(library.infold_stop_create(ctypes.byref(stop)))
    options.stop = stop

    def work():
        try:
            check(library.infold_join(ctypes.byref(options), ctypes.byref(found)))
        except Exception as error:  # noqa: BLE001  the caller's thread raises it
            failed.append(error)

    thread = threading.Thread(target=work, name="infold join", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_SLICE_NS / 1e9)
    except BaseException:
        library.infold_stop_request(stop)
        thread.join()
        library.infold_communicator_destroy(found)
        raise
    finally:
        if not thread.is_alive():  # the thread may still use it after a second Ctrl-C
            library.infold_stop_destroy(stop)
    if failed:
        raise failed[0]
    return found


def _pair(source, target, dtype):
    return (Buffer(source, "the tensor", dtype), Buffer(target, "the output", dtype, writable=True))


def _same_type(source, target):
    if source.type != target.type:
        raise TypeError(f"infold: the tensor is {source.type} and the output {target.type}")


def _same_size(source, target):
    _same_type(source, target)
    if source.elements != target.elements:
        raise ValueError(
            f"infold: the tensor has {source.elements} elements and the output {target.elements}"
        )


def _parts(whole, part, world, name):
    _same_type(whole, part)
    if whole.elements != part.elements * world:
        raise ValueError(
            f"infold: {name} has {whole.elements} elements; allowed: "
            f"{part.elements * world}, {part.elements} for each of {world} ranks"
        )


def _list_of(switches):
    return switches.split(",") if isinstance(switches, str) else switches


def _bytes(value, option):
    if not isinstance(value, str):
        raise TypeError(f"infold: {option} is {value!r}; allowed: text")
    return value.encode()


def _integer(value, option):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"infold: {option} is {value!r}; allowed: a whole number")
    if not -(2**31) <= value.__index__() < 2**31:
        raise ValueError(f"infold: {option} is {value!r}; allowed: numbers of 32 bits")
    return value.__index__()
