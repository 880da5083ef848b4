# SPDX-License-Identifier: Apache-2.0
"""Names and times of the operators that PyTorch runs, from its profiler. PyTorch has one profiler
at a time: a second one takes the events of the first."""

import time
import warnings

import torch

_MARK = "infold: begin of the recording"


class Operators:
    """Where PyTorch has no profiler, or the program runs one, there are no names, and a warning."""

    def __init__(self):
        self._profiler = None
        self._begin_ns = 0

    def begin(self):
        try:
            if torch.autograd._profiler_enabled():
                raise RuntimeError("another profiler is on")
            profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
            profiler.start()
        except (AttributeError, RuntimeError) as error:
            _warn(error)
            return
        self._profiler = profiler
        # Ties the profiler's clock to ours.
        self._begin_ns = time.monotonic_ns()
        with torch.profiler.record_function(_MARK):
            pass

    def end(self):
        """The outermost operators of each thread: name, begin and end, in nanoseconds."""
        if self._profiler is None:
            return []
        self._profiler.stop()
        events = self._profiler.events()
        marks = [event.time_range.start for event in events if event.name == _MARK]
        if not marks:
            _warn("another profiler began in the recording")
            return []
        [begin_us] = marks

        def nanoseconds(at_us):
            return self._begin_ns + int((at_us - begin_us) * 1e3)

        return [(event.name, nanoseconds(event.time_range.start), nanoseconds(event.time_range.end))
                for event in events if _is_operator(event) and not _has_operator_above(event)]


def _warn(why):
    warnings.warn(f"infold: the trace has no names of operators: {why}", stacklevel=4)


def _is_operator(event):
    """Of a library such as aten. The frames of autograd and the collectives are none."""
    library, colons, _ = event.name.partition("::")
    return bool(colons) and library not in ("autograd", "c10d", "infold")


def _has_operator_above(event):
    above = event.cpu_parent
    while above is not None:
        if _is_operator(above):
            return True
        above = above.cpu_parent
    return False
