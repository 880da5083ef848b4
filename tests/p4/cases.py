# SPDX-License-Identifier: Apache-2.0
"""Packets that are tried on both devices, beside those of infold_p4_packets. `replay` delivers and
compares them.
"""

import frames
from frames import ADD, COMPLETED, CONTRIBUTED, QUERY, REPLAYED, RESULT, SKIP, swapped

MAX = 3  # the number of the reduction


def start_with_a_skip(replay, elements, reduction=0):
    """Starts a job of two ranks. The other rank has contributed, without data."""
    replay.start_job([7, 1, 256, 64, 0, 1])
    part = frames.without_data(SKIP, elements, worker=1, reduction=reduction)
    replay.deliver("worker", part, CONTRIBUTED, [])


def complete(replay, *elements):
    replay.deliver(
        "worker",
        swapped(frames.packet(ADD, *elements)),
        COMPLETED,
        [("all", swapped(frames.packet(RESULT, *elements)))],
    )


def a_result_whose_checksum_is_zero(replay):
    """The checksum travels as 0xFFFF, because workers drop a packet without a checksum every
    time."""
    start_with_a_skip(replay, 1)
    complete(replay, frames.element_of_zero_checksum())


def a_result_without_data(replay, elements=5, reduction=0):
    """If all ranks skip a chunk, its result is a header alone, also for a rank that asks for it."""
    start_with_a_skip(replay, elements, reduction)
    part, question, result = (
        frames.without_data(kind, elements, reduction=reduction) for kind in (SKIP, QUERY, RESULT)
    )
    replay.deliver("worker", part, COMPLETED, [("all", result)])
    replay.deliver("worker", question, REPLAYED, [("0", result)])


def a_maximum_of_no_elements(replay):
    """No rank may leave out its part of a maximum, but here such a part has nothing in it."""
    a_result_without_data(replay, elements=0, reduction=MAX)


ALL = a_result_whose_checksum_is_zero, a_result_without_data, a_maximum_of_no_elements
