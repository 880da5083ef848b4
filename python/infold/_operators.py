# SPDX-License-Identifier: Apache-2.0
"""Names and times of the operators that PyTorch runs, from its profiler. PyTorch can run only one
profiler at a time: a second one takes the events of the first."""

import statistics
import time
import warnings

import torch

# Each mark is an event of the profiler between two times of our clock. The shortest mark shows best
# how the clocks differ: the first one takes milliseconds, and the system may interrupt others.
_MARK = "infold: mark"
_MARKS = 5


class Operators:
    """Warns and records no names if PyTorch has no profiler, or if the program runs one."""

    def __init__(self):
        self._profiler = None
        self._marks = []  # our times before and after each mark

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
        for _ in range(_MARKS):
            before = time.monotonic_ns()
            with torch.profiler.record_function(_MARK):
                pass
            self._marks.append((before, time.monotonic_ns()))

    def end(self):
        """The outermost operators of each thread: name, and begin and end in nanoseconds."""
        if self._profiler is None:
            return []
        try:
            self._profiler.stop()
        except RuntimeError as error:  # some releases of torch notice another profiler here
            _warn(f"another profiler began in the recording: {error}")
            return []
        events = self._profiler.events()
        seen_us = sorted(
            (event.time_range.start, event.time_range.end)
            for event in events
            if event.name == _MARK
        )
        if len(seen_us) != _MARKS:
            _warn("another profiler began in the recording")
            return []
        (before, after), middle_us = min(
            zip(self._marks, map(statistics.mean, seen_us), strict=True),
            key=lambda each: each[0][1] - each[0][0],
        )

        def nanoseconds(at_us):
            return (before + after) // 2 + int((at_us - middle_us) * 1e3)

        return [
            (event.name, nanoseconds(event.time_range.start), nanoseconds(event.time_range.end))
            for event in events
            if _is_operator(event) and not _has_operator_above(event)
        ]


def _warn(why):
    warnings.warn(f"infold: the trace has no names of operators: {why}", stacklevel=4)


def _is_operator(event):
    """Whether this is an operator of a library such as aten, not a frame or a collective."""
    library, colons, _ = event.name.partition("::")
    return bool(colons) and library not in ("autograd", "c10d", "infold")


def _has_operator_above(event):
    above = event.cpu_parent
    while above is not None:
        if _is_operator(above):
            return True
        above = above.cpu_parent
    return False
