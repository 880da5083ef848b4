# SPDX-License-Identifier: Apache-2.0
"""The packets of spec/protocol.md: a header of 32 bytes and a body."""

import collections
import struct

HEADER = struct.Struct("!BBBBHHIIHBBIHHI")
MAGIC, VERSION = 0xF1, 1
PARTIAL_FLAG, SPECIALS, TAGGED, SPARSE, BITS = 1, 2, 4, 8, 16
ADD, SKIP, PARTIAL, OVERRANGE, QUERY, ABORT = range(1, 7)
RESULT, REALIGN, PENDING, ABORTED = range(8, 12)
TO_WORKERS = (RESULT, REALIGN, PENDING, ABORTED)
ALL_REDUCE, SUM = 0, 0
FORMATS = {"i8": 0, "i16": 1, "i32": 2, "i64": 3, "bfp8": 4, "bfp16": 5, "bfp32": 6, "native": 7}
TYPES = {"f32": 0, "i8": 4, "i32": 6, "i64": 7}
LEFT, DEADLINE_PASSED, ELSEWHERE = 4, 2, 5  # reasons of R-080
MASK = 0xFFFFFFFF

# The header bytes on which all packets of a chunk agree.
Signature = collections.namedtuple("Signature", "elements type_format collective_reduction shape")
Packet = collections.namedtuple(
    "Packet", "kind flags worker job slot epoch round signature contributors weight digest body"
)


def digest(rank):
    """R-015."""
    h = (rank + 1) * 0x9E3779B1 & MASK
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def signature_of(data_type, wire_format, elements, shape):
    return Signature(
        elements, TYPES[data_type] << 4 | FORMATS[wire_format], ALL_REDUCE << 4 | SUM, shape & MASK
    )


def pack(packet):
    return (
        HEADER.pack(
            MAGIC,
            VERSION << 4 | packet.kind,
            packet.flags,
            packet.worker,
            packet.job,
            packet.slot,
            packet.epoch,
            packet.round,
            *packet.signature,
            packet.contributors,
            packet.weight,
            packet.digest,
        )
        + packet.body
    )


def parse(datagram):
    """Returns the packet, or None if a worker must drop it (R-004). Those who read bodies check
    them."""
    if len(datagram) < HEADER.size:
        return None
    (
        magic,
        kind,
        flags,
        worker,
        job,
        slot,
        epoch,
        number,
        *signature,
        contributors,
        weight,
        check,
    ) = HEADER.unpack_from(datagram)
    if magic != MAGIC or kind >> 4 != VERSION or kind & 15 not in TO_WORKERS or flags & TAGGED:
        return None
    return Packet(
        kind & 15,
        flags,
        worker,
        job,
        slot,
        epoch,
        number,
        Signature(*signature),
        contributors,
        weight,
        check,
        datagram[HEADER.size :],
    )


def missing_ranks(heard, world):
    """Returns the ranks that a PENDING names in either form (R-065), or None if it is malformed."""
    if heard.flags & BITS:
        if len(heard.body) != 4 * -(-world // 32):
            return None
        named = {
            8 * at + bit
            for at, byte in enumerate(heard.body)
            for bit in range(8)
            if byte >> bit & 1
        }
    else:
        if len(heard.body) % 4 or len(heard.body) > 8 * 4:
            return None
        named = {
            rank
            for first, count in struct.iter_unpack("!HH", heard.body)
            for rank in range(first, first + count)
        }
    return named if max(named, default=0) < world else None


def abort_body(reason, rank, other):
    return struct.pack("!HHHH", reason, rank, other, 0) + bytes(16)


def ending(body):
    """Returns the reason, rank and other of an ABORTED, or None if it is malformed."""
    if len(body) != 24:
        return None
    return struct.unpack_from("!HHH", body)
