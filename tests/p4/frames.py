# SPDX-License-Identifier: Apache-2.0
"""The packets of infold_p4_packets as frames, and answers as they must be. Both programs' tests
have these.
"""

import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
ELEMENTS = 64
HOST_MAC, HOST_IP, HOST_PORT = bytes.fromhex("02aabbccddee"), bytes((10, 0, 0, 254)), 7700
ELSEWHERE = bytes((10, 0, 1, 1))
ADD, SKIP, ABORT = 1, 2, 6
FIRST_KIND_DOWN = 8
HEADER_BYTES = 32
# As core::Verdict and p4/types.p4 number them.
CONTRIBUTED, COMPLETED, REPLAYED, JOB_ENDED, ANSWERED_ENDED, MALFORMED, FOREIGN_JOB = \
    0, 1, 2, 6, 7, 8, 9
TO_HOST = 255
DROPPED = range(MALFORMED, 20)


def skip(reason):
    print(f"skipped: {reason}; see docs/switches/p4.md")
    sys.exit(SKIPPED)


def wide(number, size):
    return number.to_bytes(size, "big")


def mac_of(worker):
    return bytes((2, 0, 0, 0, 0, worker + 1))


def ip_of(worker):
    return bytes((10, 0, 0, worker + 1))


def port_of(worker):
    return 5000 + worker


def digest_of(rank):
    """R-015."""
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
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0) + source + HOST_IP
    ip = ip[:10] + wide(checksum_of(ip), 2) + ip[12:]
    return HOST_MAC + mac_of(worker) + b"\x08\x00" + ip + udp


def read_frame(frame):
    """Address, port and datagram of an answer. Its checksums must be right."""
    ip, size = frame[14:34], struct.unpack(">H", frame[38:40])[0]
    udp = frame[34:34 + size]
    if checksum_of(ip) or udp_sum(ip[12:20], udp) or udp[6:8] == bytes(2):
        raise AssertionError(f"wrong checksum: {frame.hex()}")
    return ip[16:20], struct.unpack(">H", udp[2:4])[0], udp[8:]


def packet(kind, *elements, width=2):
    """Of the only rank of a job. Elements of i16 or i32, as the pipeline has them."""
    letter = {2: "H", 4: "I"}[width]
    return struct.pack(f">BBBBHHIIHBBIHHI{len(elements)}{letter}", 0xF1, 0x10 | kind, 0, 0, 7, 0,
                       1, 1, len(elements), width >> 1, 0, 0, 1, 1, digest_of(0), *elements)


def printed(program, scenarios, *target):
    """What infold_p4_packets prints."""
    return subprocess.run([program, str(ELEMENTS), str(scenarios), *target], cwd=ROOT, check=True,
                          stdout=subprocess.PIPE, text=True).stdout.splitlines()


def steps(lines):
    """Jobs as lists of numbers. Packets as side, datagram, verdict, and what was sent."""
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
    """Who sends it. What has no sender here is the first one's."""
    worker = datagram[3] if kind_of(datagram) else 0
    return worker if worker < workers else 0


def is_for_host(datagram, verdict):
    """The controller hears of ends, and of what is of no job here, but not of answers."""
    kind = kind_of(datagram)
    return kind < FIRST_KIND_DOWN and (
        verdict in (TO_HOST, JOB_ENDED, ANSWERED_ENDED, FOREIGN_JOB) or
        (kind == ABORT and verdict != MALFORMED))


def receivers(to, workers):
    return range(workers) if to == "all" else [int(to)]


def expect_difference(replay):
    """Of the program without the round check."""
    try:
        replay()
    except AssertionError as difference:
        print(f"the canary sings {str(difference).split(':')[0]}")
    else:
        sys.exit("the canary sings no more: no difference found without the round check")
