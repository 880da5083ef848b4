#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares examples/spec_worker, which was written from the specification alone, with our ranks bit
by bit. The path between them loses, repeats, delays and reorders packets.

Usage: spec_worker_test.py INFOLD CALLED_RANK [--schedules N] [--seed S]
"""

import argparse
import multiprocessing
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

from expected_sums import LETTERS, expected_sum
from faulty_path import FaultyPath
from processes import PATIENCE, Job, expect, free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "spec_worker"))
from rank import Rank

TYPES = {"f32": 0, "i8": 4, "i32": 6, "i64": 7}  # as in infold.h
WIRES = {"bfp32": 1, "bfp16": 2, "bfp8": 3, "native": 5}
CALLS_IN_FLIGHT = 24
INNER, OUTER = "127.0.0.1", "127.0.0.2"
# The kind of each rank. Consecutive ranks of ours share memory, and are one worker.
LAYOUTS = (
    ("spec", "ours"),
    ("ours", "spec", "ours"),
    ("spec", "ours", "ours"),
    ("spec", "ours", "spec"),
)
# Sizes in elements: none, odd ones, ends of blocks and of chunks, and one that takes all small
# slots.
EDGES = (0, 1, 2, 31, 32, 33, 351, 352, 353, 1000, 30000)
# Bits of extreme floats. Beside other floats, they need more than one round trip.
EXTREMES = (
    0,
    1 << 31,
    1,
    0x80000001,
    0x007FFFFF,
    0x00800000,
    0x7F7FFFFF,
    0xFF7FFFFF,
    0x3F800000,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0x7E967699,
    0x00000400,
)


def values_of(data_type, elements, kind, drawn):
    """Returns a tensor's bytes."""
    if data_type != "f32":
        return drawn.randbytes(elements * struct.calcsize(LETTERS[data_type]))
    if kind == "bits":
        return drawn.randbytes(4 * elements)
    if kind == "extreme":
        return struct.pack(f"<{elements}I", *(drawn.choice(EXTREMES) for _ in range(elements)))
    return struct.pack(f"<{elements}f", *(drawn.gauss(0, 1) for _ in range(elements)))


def draw_calls(seed, count, world):
    """Returns [(type, wire format, each rank's bytes)]. The first calls have the sizes at the
    edges."""
    drawn = random.Random(seed)
    calls = []
    for number in range(count):
        data_type = drawn.choice(("f32", "f32", "f32", "i32", "i64", "i8"))
        wire = drawn.choice(tuple(WIRES)) if data_type == "f32" else data_type
        elements = EDGES[number] if number < len(EDGES) else drawn.randrange(1, 60)
        kind = drawn.choice(("normal", "normal", "bits", "extreme"))
        calls.append(
            (data_type, wire, [values_of(data_type, elements, kind, drawn) for _ in range(world)])
        )
    return calls


def write_calls(path, calls, rank):
    with open(path, "wb") as file:
        file.write(struct.pack("=I", CALLS_IN_FLIGHT))
        for data_type, wire, values in calls:
            elements = len(values[rank]) // struct.calcsize(LETTERS[data_type])
            file.write(struct.pack("=III", TYPES[data_type], WIRES.get(wire, 0), elements))
            file.write(values[rank])


def run_spec_rank(address, rank, world, calls, results):
    """Makes the calls of called_rank with the example's worker."""
    member = Rank(address, "default", rank, world, PATIENCE)
    with open(results, "wb") as file:
        for first in range(0, len(calls), CALLS_IN_FLIGHT):
            batch = calls[first : first + CALLS_IN_FLIGHT]
            tensors = [
                member.worker.submit(
                    struct.unpack(
                        f"<{len(values[rank]) // struct.calcsize(LETTERS[data_type])}"
                        f"{LETTERS[data_type]}",
                        values[rank],
                    ),
                    data_type,
                    wire,
                )
                for data_type, wire, values in batch
            ]
            for (data_type, _, _), tensor in zip(batch, tensors, strict=True):
                letter = LETTERS[data_type]
                result = member.finish(tensor)
                file.write(struct.pack(f"<{len(result)}{letter}", *result))
    member.leave()


class Ranks(Job):
    """Processes of our ranks and of the example."""

    def __init__(self, binary, called_rank):
        super().__init__(binary)
        self.called_rank = called_rank
        self.spec_ranks = []

    def __exit__(self, *reason):
        for process in self.spec_ranks:
            process.kill()
            process.join()
        super().__exit__(*reason)

    def start_ours(self, address, rank, world, files):
        self.processes.append(
            subprocess.Popen(
                [self.called_rank, address, str(rank), str(world), *files],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "INFOLD_SHARED_MEMORY": "always"},
            )
        )
        return self.processes[-1]

    def start_spec(self, *arguments):
        context = multiprocessing.get_context("fork")
        self.spec_ranks.append(context.Process(target=run_spec_rank, args=arguments))
        self.spec_ranks[-1].start()


def sum_together(programs, kinds, calls, seed):
    """Runs a job whose rank i is "ours" or "spec", as kinds[i] says. Returns its number of
    chunks."""
    world = len(kinds)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, Ranks(*programs) as job:
        job.start_switch(port)
        with FaultyPath((OUTER, port), (INNER, port), seed) as path:
            address = f"{OUTER}:{port}"
            files = [(f"{folder}/calls-{rank}", f"{folder}/sums-{rank}") for rank in range(world)]
            ours = []
            for rank, kind in enumerate(kinds):
                if kind == "ours":
                    write_calls(files[rank][0], calls, rank)
                    ours.append(job.start_ours(address, rank, world, files[rank]))
                else:
                    job.start_spec(address, rank, world, calls, files[rank][1])
            for process in ours:
                _, said = process.communicate(timeout=10 * PATIENCE)
                expect(process.returncode == 0, f"a rank of ours: {said}")
            for process in job.spec_ranks:
                process.join(PATIENCE)
                expect(process.exitcode == 0, f"a rank of the example ends with {process.exitcode}")
            results = [pathlib.Path(sums).read_bytes() for _, sums in files]
    at = 0
    for number, (data_type, wire, values) in enumerate(calls):
        right = expected_sum(data_type, wire, values)
        for rank, result in enumerate(results):
            expect(
                result[at : at + len(right)] == right,
                f"seed {seed}, call {number} ({data_type}, {wire}), rank {rank} of {kinds}: "
                f"{values} -> {result[at : at + len(right)].hex()}, right is {right.hex()}",
            )
        at += len(right)
    expect(all(len(result) == at for result in results), "results of another length")
    return path.networks_drawn


def the_same_bits_on_bad_networks(programs, schedules, seed):
    started = time.monotonic()
    each = -(-schedules // len(LAYOUTS))
    drawn = 0
    for number, kinds in enumerate(LAYOUTS):
        calls = draw_calls(seed + number, each, len(kinds))
        drawn += sum_together(programs, kinds, calls, seed + number)
    print(
        f"{schedules} sums, {drawn} chunks each with a network of its own, "
        f"{time.monotonic() - started:.1f} s"
    )
    expect(drawn >= schedules, "fewer networks than sums")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("infold")
    parser.add_argument("called_rank")
    parser.add_argument("--schedules", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    the_same_bits_on_bad_networks(
        (options.infold, options.called_rank), options.schedules, options.seed
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
