# SPDX-License-Identifier: Apache-2.0
"""A hostile switch: it answers the Hello of ranks with replies that no honest switch sends."""

import socket
import struct
import threading

import attacks  # noqa: F401  finds the modules of the example
import http2
import joining

HUGE = (1 << 32) - 1
ADDRESSES = (
    "",
    ":1",
    "127.0.0.1:9",
    "x",
    "[",
    "127.0.0.1:0",
    "127.0.0.1:99999",
    "::1",
    "a" * 5000,
    "nobody.invalid:7700",
    "0.0.0.0:7",
    "239.1.1.1:1",
    "\0",
    "127.0.0.1:9,127.0.0.1:9",
)
NUMBERS = (0, 1, 2, 31, 32, 33, 64, 65, 255, 256, 257, 65535, 65536, (1 << 31) - 1, 1 << 31, HUGE)
RESPONSE = http2.literal(":status", "200") + http2.literal("content-type", "application/grpc")


def record(**changes):
    """Returns the record of a site that can do everything, except for the changes."""
    return {
        "formats": 0x7F,
        "elements_max": 8192,
        "workers_max": 256,
        "takes_sparse": 1,
        "verifies_checksums": 1,
        "pending_forms": 1,
        **changes,
    }


def joined(**changes):
    """Returns an honest answer, except for the changes."""
    return {
        "job": 1,
        "epoch": 77,
        "datagram_bytes_max": 1472,
        "elements_max": 352,
        "small_slots": 64,
        "bulk_slots": 448,
        "sites": [{"address": "127.0.0.1:9", "weight": 1, "record": record()}],
        "formats": 0x7F,
        **changes,
    }


def group(first, count):
    return {"first": first, "count": count, "meeting": "infold-x"}


def named_replies():
    """Returns replies that ended ranks once, or might: {name: replies to a Hello}."""
    one = joined()["sites"]
    return {
        "elements_max 1": [joined(elements_max=1)],
        "no elements": [joined(elements_max=0)],
        "all elements": [joined(elements_max=HUGE)],
        "a datagram of one byte": [joined(datagram_bytes_max=1)],
        "a datagram of 4 GB": [joined(datagram_bytes_max=HUGE, elements_max=HUGE)],
        "no small slots": [joined(small_slots=0)],
        "no slots": [joined(small_slots=0, bulk_slots=0)],
        "all slots": [joined(small_slots=HUGE, bulk_slots=HUGE)],
        "half of all slots": [joined(small_slots=1 << 15, bulk_slots=1 << 15)],
        "a job's number too large": [joined(job=1 << 16)],
        "no site": [joined(sites=[])],
        "a thousand sites": [joined(sites=one * 1000)],
        "a site of weight 65": [joined(sites=[{**one[0], "weight": 65}])],
        "a site of all weight": [joined(sites=[{**one[0], "weight": HUGE}])],
        "sites at ranks": [joined(sites=[{**one[0], "at_rank": 1}] * 3)],
        "a site without a record": [joined(sites=[{"address": "127.0.0.1:9", "weight": 1}])],
        "a record of nothing": [joined(sites=[{**one[0], "record": {}}])],
        "a record of less than the job uses": [
            joined(sites=[{**one[0], "record": record(formats=4, elements_max=64)}])
        ],
        "formats that nobody knows": [joined(formats=0x80)],
        "no formats": [joined(formats=0)],
        "all bits of a record": [
            joined(
                formats=HUGE,
                sites=[
                    {
                        **one[0],
                        "record": record(
                            formats=HUGE, elements_max=HUGE, workers_max=HUGE, pending_forms=HUGE
                        ),
                    }
                ],
            )
        ],
        "a group of none": [joined(groups=[group(0, 0)])],
        "a group beyond the world": [joined(groups=[group(0, HUGE)])],
        "a group far away": [joined(groups=[group(HUGE, 2)])],
        "groups that overlap": [joined(groups=[group(0, 2), group(1, 2)])],
        "ten thousand groups": [joined(groups=[group(0, 2)] * 10000)],
        "racks that overlap": [joined(racks=[{"first": 0, "count": 2}] * 2, parent="x:1")],
        "a rack without end": [joined(racks=[{"first": HUGE, "count": HUGE}], parent="x:1")],
        "sources of three ranks": [joined(rank_sources=["127.0.0.1"] * 3)],
        "sources that are none": [joined(rank_sources=["0.0.0.0", "x" * 1000])],
        "twenty thousand sources": [joined(rank_sources=["::1"] * 20_000)],
        "other groups in Go": [joined(), {"go": {"groups": [group(0, 2)]}}],
        "Go before Joined": [{"go": {}}],
        "Joined twice": [joined(), joined()],
        "an end before it began": [{"ended": {"reason": 99, "rank": HUGE, "abort": b"x" * 99}}],
        "an end that nobody knows": [joined(), {"go": {}}, {"ended": {"reason": 4, "abort": b"x"}}],
        "a refusal that nobody knows": [{"refused": {"reason": 99, "message": "\0\x1b[2J" * 100}}],
        "a long refusal": [{"refused": {"reason": 1, "message": "m" * 3_000_000}}],
        "nothing in a message": [{}],
        "no answer": [],
        "Go, and then nothing": [joined(), {"go": {}}],
        "not protobuf": [b"\xff" * 50],
    }


def drawn_replies(draw):
    """Draws the values of one to five fields of Joined."""
    answer = joined()
    for _ in range(draw.randrange(1, 6)):
        field = draw.choice([*joining.JOINED])
        kind = joining.JOINED[field][1]
        if kind is int:
            answer[field] = draw.choice(NUMBERS)
        elif kind is str:
            answer[field] = draw.choice(ADDRESSES)
        else:
            answer[field] = [
                draw.choice(ADDRESSES) if kind[0] is str else drawn_fields(draw, kind[0])
                for _ in range(draw.choice((0, 1, 2, 9)))
            ]
    go = {
        "go": {
            "groups": [drawn_fields(draw, joining.GROUP) for _ in range(draw.choice((0, 0, 1, 3)))]
        }
    }
    return draw.choice(([answer], [answer, go], [answer, go, go]))


def drawn_fields(draw, layout):
    return {
        name: draw.choice(NUMBERS)
        if kind is int
        else drawn_fields(draw, kind)
        if isinstance(kind, dict)
        else draw.choice(ADDRESSES)
        for name, (_, kind) in layout.items()
        if draw.random() < 0.8
    }


class HostileSwitch:
    """Answers every stream with these replies, until its context ends."""

    def __init__(self, replies):
        self.replies = b"".join(
            http2.grpc_message(
                reply
                if isinstance(reply, bytes)
                else joining.encode(joining.REPLY, {"joined": reply} if "job" in reply else reply)
            )
            for reply in replies
        )
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.close()

    def _serve(self):
        while True:
            try:
                rank, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(rank,), daemon=True).start()

    def _answer(self, rank):
        """Sends HTTP/2 settings, then the replies on each stream once its headers have come."""
        try:
            rank.sendall(http2.frame(http2.SETTINGS, 0, 0))
            received = b""
            while more := rank.recv(1 << 16):
                received += more
                received = received.removeprefix(http2.PREFACE)
                while len(received) >= 9:
                    length = int.from_bytes(received[:3], "big")
                    if len(received) < 9 + length:
                        break
                    kind, flags, stream = struct.unpack_from("!BBI", received, 3)
                    self._react(rank, kind, flags, stream, received[9 : 9 + length])
                    received = received[9 + length :]
        except OSError:
            pass

    def _react(self, rank, kind, flags, stream, payload):
        if kind == http2.SETTINGS and not flags & http2.ACK:
            rank.sendall(http2.frame(http2.SETTINGS, http2.ACK, 0))
        elif kind == http2.PING and not flags & http2.ACK:
            rank.sendall(http2.frame(http2.PING, http2.ACK, 0, payload))
        elif kind == http2.HEADERS:
            rank.sendall(http2.frame(http2.HEADERS, http2.END_HEADERS, stream, RESPONSE))
            for at in range(0, len(self.replies), 1 << 14):
                rank.sendall(http2.frame(http2.DATA, 0, stream, self.replies[at : at + (1 << 14)]))
