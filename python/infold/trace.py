# SPDX-License-Identifier: Apache-2.0
"""Records training steps into Chakra traces, one file for each rank. docs/traces.md has the rest.

    with infold.trace.record("run") as recording:
        for batch in batches:
            train(batch)
            recording.step()

writes run.0.et at rank 0. `infold trace show run.0.et` prints it.
"""

import importlib
import os

from infold import _version

_version.require_torch(__name__)

import torch.distributed as dist

from infold._operators import Operators
from infold._registration import backend_of


class record:
    """Records all infold groups of this process from the beginning of `with` to its end. Ranks that
    are to be replayed together must record the same steps. An exception ends the recording without
    a file.

    `path` is the beginning of the file's name; the rank and ".et" follow it. With `operators`,
    PyTorch's profiler runs, and each compute names the operators that took most of its time. The
    profiler makes each operator some microseconds slower.
    """

    def __init__(self, path, operators=False):
        self._path = os.fspath(path)
        self._operators = Operators() if operators else None
        self.file = None  # the trace's name, once it is written

    def __enter__(self):
        backend_of()  # raises if the default group is not infold's
        folder = os.path.dirname(self._path) or "."
        if not os.access(folder, os.W_OK):
            raise FileNotFoundError(f"infold: Cannot write to {folder}: create the directory first")
        if not _extension().begin_recording():
            raise RuntimeError("infold: a recording is on already; end it first")
        if self._operators:
            self._operators.begin()
        return self

    def step(self):
        """Ends a step. Call it at every rank after every step."""
        _extension().end_recorded_step()

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            _extension().drop_recording()
        else:
            _extension().stop_recording()  # the profiler's end takes time
        operators = self._operators.end() if self._operators else []
        if kind is not None:
            return
        rank = dist.get_rank()
        file = f"{self._path}.{rank}.et"
        _extension().end_recording(file, rank, dist.get_world_size(), _groups(), operators)
        self.file = file


def _extension():
    return importlib.import_module("infold._c")


def _groups():
    """The ranks of each group that this rank belongs to, by the group's name."""
    ranks = dist.distributed_c10d._world.pg_group_ranks
    return {
        group.group_name: sorted(of_group, key=of_group.get)
        for group, of_group in ranks.items()
        if isinstance(group, dist.ProcessGroup)
    }
