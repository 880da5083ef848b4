# SPDX-License-Identifier: Apache-2.0
"""Turns the packets of infold_p4_packets into frames, and says what answers must be, for the tests
of both targets.
"""

import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
ELEMENTS = 64
SLOTS = 256  # that each job has
HOST_MAC, HOST_IP, HOST_PORT = bytes.fromhex("02aabbccddee"), bytes((10, 0, 0, 254)), 7700
ELSEWHERE = bytes((10, 0, 1, 1))
ADD, SKIP, QUERY, ABORT, RESULT, PENDING = 1, 2, 5, 6, 8, 10
FIRST_KIND_DOWN = RESULT
HEADER_BYTES = 32
UDP_AND_HEADER_BYTES = 40
# DSCP AF11 and ECN's ECT(0), which answers keep, and how many hops packets and answers have.
SERVICE, HOPS, HOPS_OF_ANSWERS = 0x2A, 7, 64
SERVICE_AT, HOPS_AT = 15, 22
UDP_CHECKSUM = slice(40, 42)
# Bytes of a frame that only its checksums cover: service, number, hops, both checksums, an element.
PLACES_OF_CHECKSUMS = 15, 19, 22, 25, 41, 77
DATAGRAM_AT, ELEMENTS_AT = 42, 74
# The numbers of verdicts in core::Verdict and planes/p4/pipeline/types.p4.
CONTRIBUTED, COMPLETED, REPLAYED, JOB_ENDED, ANSWERED_ENDED, MALFORMED, FOREIGN_JOB = (
    0,
    1,
    2,
    6,
    7,
    8,
    9,
)
STALE_ROUND, PASSES_AGAIN, ADMITTED, NONE, TO_HOST = 16, 251, 253, 254, 255
DROPPED = range(MALFORMED, 20)


def skip(reason):
    print(f"skipped: {reason}; see docs/switches/p4.md")
    sys.exit(SKIPPED)


def wide(number, size):
    return number.to_bytes(size, "big")


def number(data):
    return int.from_bytes(data, "big")


def swapped(datagram):
    """Swaps the bytes of elements: the program's elements are big-endian, a worker's are not."""
    if kind_of(datagram) not in (ADD, RESULT):
        return datagram
    words = range(HEADER_BYTES, len(datagram) - 3, 4)
    body = b"".join(datagram[at : at + 4][::-1] for at in words)
    return datagram[:HEADER_BYTES] + body + datagram[HEADER_BYTES + len(body) :]


def mac_of(worker):
    return bytes((2, 0, 0, 0, 0, worker + 1))


def ip_of(worker):
    return bytes((10, 0, 0, worker + 1))


def port_of(worker):
    return 5000 + worker


def digest_of(rank):
    """Returns a rank's digest by R-015."""
    h = (rank + 1) * 0x9E3779B1 & 0xFFFFFFFF
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


def checksum_of(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp_sum(addresses, udp):
    return checksum_of(addresses + struct.pack(">HH", 17, len(udp)) + udp)


def make_frame(datagram, worker, source):
    udp = struct.pack(">HHHH", port_of(worker), HOST_PORT, 8 + len(datagram), 0) + datagram
    udp = udp[:6] + wide(udp_sum(source + HOST_IP, udp) or 0xFFFF, 2) + udp[8:]
    head = struct.pack(">BBHHHBBH", 0x45, SERVICE, 20 + len(udp), 0, 0x4000, HOPS, 17, 0)
    ip = head + source + HOST_IP
    ip = ip[:10] + wide(checksum_of(ip), 2) + ip[12:]
    return HOST_MAC + mac_of(worker) + b"\x08\x00" + ip + udp


def read_frame(frame):
    """Returns address, port and datagram of an answer. Its checksums must be right."""
    ip, size = frame[14:34], struct.unpack(">H", frame[38:40])[0]
    udp = frame[34 : 34 + size]
    if checksum_of(ip) or udp_sum(ip[12:20], udp) or udp[6:8] == bytes(2):
        raise AssertionError(f"wrong checksum: {frame.hex()}")
    return ip[16:20], struct.unpack(">H", udp[2:4])[0], udp[8:]


def read_answer(frame):
    """Does the same as read_frame(), for an answer of the pipeline. Only a PENDING may have bytes
    behind its datagram: the elements of the contribution that it answers."""
    ip, port, datagram = read_frame(frame)
    if frame[SERVICE_AT] != SERVICE or frame[HOPS_AT] != HOPS_OF_ANSWERS:
        raise AssertionError(f"service {frame[SERVICE_AT]}, {frame[HOPS_AT]} hops: {frame.hex()}")
    behind = len(frame) - DATAGRAM_AT - len(datagram)
    if behind and kind_of(datagram) != PENDING:
        raise AssertionError(f"{behind} bytes behind the datagram: {frame.hex()}")
    return ip, port, datagram


def packet(kind, *elements):
    """Returns a packet of a job's first rank. Its elements are i32, as the pipeline has them."""
    return struct.pack(
        f">BBBBHHIIHBBIHHI{len(elements)}I",
        0xF1,
        0x10 | kind,
        0,
        0,
        7,
        0,
        1,
        1,
        len(elements),
        2,
        0,
        0,
        1,
        1,
        digest_of(0),
        *elements,
    )


def without_data(kind, elements, worker=0, reduction=0):
    """Returns a packet without data, of a chunk of this many elements."""
    data = bytearray(packet(kind))
    data[19] = reduction
    data[3], data[16:18], data[24:32] = worker, elements.to_bytes(2, "big"), bytes(8)
    return bytes(data)


def element_of_zero_checksum():
    """Returns an element that, alone in a RESULT, makes the first worker's checksum 0."""
    ports = struct.pack(">HHHH", HOST_PORT, port_of(0), UDP_AND_HEADER_BYTES + 4, 0)
    return next(
        each
        for each in range(1 << 16)
        if udp_sum(HOST_IP + ip_of(0), ports + packet(RESULT, each)) == 0
    )


def printed(program, scenarios, *target):
    """Returns the lines that infold_p4_packets prints."""
    return subprocess.run(
        [program, str(ELEMENTS), str(scenarios), *target],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.splitlines()


def steps(lines):
    """Yields jobs as lists of numbers, and packets as side, datagram, verdict, and what was
    sent."""
    pending = None
    for line in lines:
        word, *rest = line.split(" ")
        if word in ("job", "in") and pending:
            yield tuple(pending)
            pending = None
        if word == "job":
            yield [int(number) for number in rest]
        elif word == "in":
            pending = [rest[0], bytes.fromhex(rest[1]), None, []]
        elif word == "verdict":
            pending[2] = int(rest[0])
        else:
            pending[3].append((rest[0], bytes.fromhex(rest[1])))
    if pending:
        yield tuple(pending)


def kind_of(datagram):
    return datagram[1] & 0xF if len(datagram) >= HEADER_BYTES else 0


def worker_of(datagram, workers):
    """Returns who sends the packet. If no worker here does, the first one counts as its sender."""
    worker = datagram[3] if kind_of(datagram) else 0
    return worker if worker < workers else 0


def is_for_host(datagram, verdict):
    """Says whether the controller hears of the packet: of ends, and of packets of no job here, but
    not of answers."""
    kind = kind_of(datagram)
    return kind < FIRST_KIND_DOWN and (
        verdict in (TO_HOST, JOB_ENDED, ANSWERED_ENDED, FOREIGN_JOB)
        or (kind == ABORT and verdict != MALFORMED)
    )


def is_alike(out, frame):
    """Says whether the host got this frame. Elements may be sums by then, and the checksum is of
    what is there."""
    if out == frame:
        return True
    read_frame(out)
    end = ELEMENTS_AT if kind_of(frame[DATAGRAM_AT:]) == ADD else len(frame)
    return (
        len(out) == len(frame)
        and out[: UDP_CHECKSUM.start] == frame[: UDP_CHECKSUM.start]
        and out[UDP_CHECKSUM.stop : end] == frame[UDP_CHECKSUM.stop : end]
    )


def receivers(to, workers):
    return range(workers) if to == "all" else [int(to)]


def expect_difference(replay):
    """Expects that the program without the round check makes a difference."""
    try:
        replay()
    except AssertionError as difference:
        print(f"the canary sings {str(difference).split(':')[0]}")
    else:
        sys.exit("the canary sings no more: no difference found without the round check")
