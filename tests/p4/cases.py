# SPDX-License-Identifier: Apache-2.0
"""Packets that are tried on both devices, beside those of infold_p4_packets. `replay` delivers and
compares them.
"""

import frames
from frames import (
    ADD,
    COMPLETED,
    CONTRIBUTED,
    QUERY,
    REPLAYED,
    RESULT,
    SKIP,
    TO_HOST,
    number,
    swapped,
)

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


def a_part_of_a_maximum_cannot_be_skipped(replay):
    """The result would begin with zeros, so the host hears of such a packet."""
    replay.start_job([7, 1, 256, 64, 0, 1])
    part = frames.without_data(SKIP, 5, reduction=MAX)
    replay.deliver("worker", part, TO_HOST, [])


def the_first_worker_of_a_chunk_is_noted(replay):
    """The controller reads it when calls differ."""
    for first in (1, 0):
        replay.start_job([7, 1, 256, 64, 0, 1])
        part = frames.without_data(SKIP, 3, worker=first)
        replay.deliver("worker", part, CONTRIBUTED, [])
        slot, round_ = number(part[6:8]), number(part[12:16])
        copy = (replay.job.place * frames.SLOTS + slot) * 2 + round_ % 2
        noted = replay.register("first_workers", copy)
        if noted != first:
            raise AssertionError(f"the first worker is {noted}, not {first}")


def a_contribution_that_is_repeated_after_the_result(replay):
    """It gets the result, without its own elements behind that."""
    elements = range(7, 7 + 33)
    start_with_a_skip(replay, len(elements))
    complete(replay, *elements)
    part, result = (swapped(frames.packet(kind, *elements)) for kind in (ADD, RESULT))
    replay.deliver("worker", part, REPLAYED, [("0", result)])


ALL = (
    a_result_whose_checksum_is_zero,
    a_result_without_data,
    a_maximum_of_no_elements,
    a_part_of_a_maximum_cannot_be_skipped,
    the_first_worker_of_a_chunk_is_noted,
    a_contribution_that_is_repeated_after_the_result,
)
