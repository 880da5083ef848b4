# SPDX-License-Identifier: Apache-2.0
"""Runs the ranks of a test as processes of this host. They are forked, so that torch is imported
only once."""

import contextlib
import datetime
import json
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import torch
import torch.distributed as dist

import infold

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "network"))
from processes import free_port  # noqa: F401  tests take it from here

# How long a rank may take to end.
PATIENCE_S = 120
_FORK = multiprocessing.get_context("fork")


class RankFailed(AssertionError):
    """One or more ranks raised. The message has all tracebacks."""


def _enter(pipe, rank, world, store, backend, options, timeout_s, settle, body, arguments):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
    try:
        if settle:
            settle(rank)
        if backend:
            dist.init_process_group(
                backend,
                init_method=f"file://{store}",
                rank=rank,
                world_size=world,
                timeout=datetime.timedelta(seconds=timeout_s),
                pg_options=options if backend == "infold" else None,
            )
        answer = body(rank, world, *arguments)
        if dist.is_initialized():
            dist.destroy_process_group()
        pipe.send((True, answer))
    except BaseException:  # noqa: BLE001  the parent reports it
        pipe.send((False, traceback.format_exc()))
    pipe.close()
    # sys.exit would run pytest's exit handlers.
    import infold._c

    infold._c.close_all()
    os._exit(0)


def _store():
    return dist.distributed_c10d._get_default_store()


def arrive(where, count):
    """Notes that this rank, one of `count`, has arrived there."""
    if _store().add(where, 1) == count:
        _store().set(f"{where}: all", "")


def wait_for_all(where):
    """Waits until all these ranks have arrived there."""
    _store().wait([f"{where}: all"], datetime.timedelta(seconds=PATIENCE_S))


def ordered(rank, last, before):
    """At rank `last`, waits until all other ranks have called it; they return at once."""
    if rank == last:
        wait_for_all(before)
    else:
        arrive(before, dist.get_world_size() - 1)


def run_ranks(world, body, *arguments, backend="infold", options=None, timeout_s=30, settle=None):
    """Calls body(rank, world, *arguments) in `world` processes that share a process group, and
    returns their answers in the order of ranks. Raises RankFailed with what went wrong in any of
    them. Each process first calls settle(rank), to go where its rank belongs."""
    answers, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        started = []
        for rank in range(world):
            ours, theirs = _FORK.Pipe(duplex=False)
            process = _FORK.Process(
                target=_enter,
                args=(
                    theirs,
                    rank,
                    world,
                    store,
                    backend,
                    options,
                    timeout_s,
                    settle,
                    body,
                    arguments,
                ),
            )
            process.start()
            theirs.close()
            started.append((process, ours))
        end = time.monotonic() + PATIENCE_S
        for rank, (process, pipe) in enumerate(started):
            try:
                if not pipe.poll(max(0, end - time.monotonic())):
                    raise TimeoutError(f"has not ended after {PATIENCE_S} s")
                succeeded, answer = pipe.recv()
            except TimeoutError as error:
                process.kill()
                succeeded, answer = False, repr(error)
            except EOFError:
                process.join(PATIENCE_S)
                process.kill()
                succeeded, answer = False, f"died with exit code {process.exitcode}"
            (answers if succeeded else failures).append(
                answer if succeeded else f"rank {rank} of {world}:\n{answer}"
            )
        for process, pipe in started:
            process.join()
            pipe.close()
    if failures:
        raise RankFailed("\n".join(failures))
    return answers


@contextlib.contextmanager
def running_switch(*words):
    """Runs a switch on a free port of loopback, and yields its join address."""
    binary = os.environ["INFOLD_BINARY"]
    with subprocess.Popen(
        [binary, "switch", "--listen", "127.0.0.1:0", "--json", *words],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield json.loads(process.stdout.readline())["join"]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE_S)


@contextlib.contextmanager
def running_switches(count):
    """Options of a group that sums at `count` switches, over UDP and not in memory."""
    with contextlib.ExitStack() as stack:
        switches = [stack.enter_context(running_switch()) for _ in range(count)]
        yield infold.Options(
            switches=switches, shared_memory="off", sites="switches" if switches else "workers"
        )
