# SPDX-License-Identifier: Apache-2.0
"""A hostile switch: it answers the Hello of ranks with replies that no honest switch sends.

An answer is a list of steps, which are done in order once a rank has said Hello: a message as a
dictionary, the bytes of one, or a function of the Session.
"""

import contextlib
import select
import socket
import struct
import threading
import time

import attacks  # noqa: F401  finds the modules of the example
import joining
from frames import REPLY_BYTES_MAX, frame

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
# Characters that move the cursor, name the window and end lines, in both of Unicode's ranges.
ESCAPES = "\x1b[2J\x1b]0;x\x07\u009b2J\x9d\r\x08\0\x7f"
HERE = "here"  # as the address of a site: packets that come to the switch itself


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


def joined_here(**changes):
    """Returns an answer that ranks take, with a site whose probes come back."""
    site = {"address": HERE, "weight": 1, "record": record(formats=0xFF)}
    return joined(sites=[site], formats=0xFF, **changes)


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
        "formats that nobody knows": [joined(formats=0x100)],
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
        "a refusal that nobody knows": [refusal(ESCAPES * 20, 99)],
        "a refusal with terminal escapes": [refusal("a rank" + ESCAPES)],
        "a refusal of many lines": [refusal("x\n" * 1000)],
        "a long refusal": [refusal("m" * (REPLY_BYTES_MAX - 100))],
        "a long refusal in other letters": [refusal("m" + "\u00e9" * 100_000)],
        "a refusal that is too long": [refusal("m" * 3_000_000)],
        "an address with terminal escapes": [joined(sites=[{**one[0], "address": ESCAPES}])],
        "a source with terminal escapes": [joined(rank_sources=[ESCAPES] * 2)],
        "a lost switch with terminal escapes": [{"ended": {"reason": 3, "address": ESCAPES}}],
        "nothing in a message": [{}],
        "no answer": [],
        "not protobuf": [b"\xff" * 50],
        **running_replies(),
        **raw_replies(),
    }


def running_replies():
    """Returns answers to ranks that come as far as their sums: {name: steps}."""
    start = [joined_here(), Session.hear_request, {"go": {}}]
    return {
        "Go before the rank is ready": [joined_here(), {"go": {}}],
        "Go, and then nothing": start,
        "Go twice": [*start, {"go": {}}],
        "an end that nobody knows": [*start, {"ended": {"reason": 4, "abort": b"x"}}],
        "an end with terminal escapes": [*start, {"ended": {"reason": 3, "address": ESCAPES}}],
        "a refusal after Go": [*start, refusal(ESCAPES)],
        "a parent with terminal escapes": [joined_here(parent=ESCAPES), *start[1:], Session.cut],
        "keepalives without end after Go": [*start, Session.ask_without_end],
        "a reset after Go": [*start, Session.cut],
        "an end of one direction after Go": [*start, Session.end],
        "nonsense after Go": [*start, Session.send_bytes(b"\xff" * 5000)],
        "a length after Go": [*start, Session.send_bytes(b"\0\0\1")],
    }


def raw_replies():
    """Returns answers that break the frames, or come in a strange way: {name: steps}."""
    honest = frame(joining.encode(joining.REPLY, {"joined": joined()}))
    return {
        "a message of 4 GiB": [Session.send_bytes(struct.pack("!I", HUGE)), Session.send_much],
        "a message of one byte too much": [
            Session.send_bytes(struct.pack("!I", REPLY_BYTES_MAX + 1)),
            Session.send_much,
        ],
        "a length whose message never comes": [
            Session.send_bytes(struct.pack("!I", REPLY_BYTES_MAX) + bytes(100))
        ],
        "a part of a length": [Session.send_bytes(b"\0\0")],
        "a byte at a time": [Session.send_slowly(honest)],
        "keepalives without end": [Session.ask_without_end],
        "HTTP/2": [Session.send_bytes(b"\0\0\x12\4\0\0\0\0\0" + bytes(18))],
        "HTTP/1": [Session.send_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n")],
        "TLS": [Session.send_bytes(b"\x15\x03\x01\0\2\2\x16")],
        "an end of its direction": [Session.end],
        "an end within a message": [Session.send_bytes(honest[:20]), Session.end],
        "a reset": [Session.cut],
        "a reset within a message": [Session.send_bytes(honest[:20]), Session.cut],
    }


def refusal(message, reason=1):
    return {"refused": {"reason": reason, "message": message}}


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


class Session:
    """The switch's end of one rank's connection. Answers keepalives unless it is silent."""

    def __init__(self, way, port, is_silent=False):
        self.way, self.port, self.is_silent = way, port, is_silent
        self.received = b""
        self.is_over = False

    def serve(self, steps):
        """Takes the steps after the Hello. Then waits for the rank's end."""
        with contextlib.suppress(OSError), self.way:
            self.hear_request()
            for step in steps:
                if callable(step):
                    step(self)
                else:
                    self.way.sendall(frame(self.message(step)))
            while not self.is_over:
                self.hear_request()

    def message(self, step):
        if isinstance(step, bytes):
            return step
        if "sites" in step:
            sites = [
                {**site, "address": f":{self.port}"} if site.get("address") == HERE else site
                for site in step["sites"]
            ]
            step = {"joined": {**step, "sites": sites}}
        return joining.encode(joining.REPLY, step)

    def hear_request(self):
        """Waits for a message or the rank's end."""
        while not self.is_over:
            while len(self.received) >= 4:
                length = int.from_bytes(self.received[:4], "big")
                if len(self.received) < 4 + length:
                    break
                self.received = self.received[4 + length :]
                if length:
                    return
                if not self.is_silent:
                    self.way.sendall(frame())
            more = self.way.recv(1 << 16)
            self.received += more
            self.is_over = not more

    def ask_without_end(self):
        """Sends keepalives as fast as the rank takes them, until it closes the connection."""
        while True:
            self.way.sendall(frame() * 1000)

    def send_much(self):
        while True:
            self.way.sendall(bytes(1 << 16))

    def end(self):
        self.way.shutdown(socket.SHUT_WR)

    def cut(self):
        self.way.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.way.close()

    @staticmethod
    def send_bytes(content):
        return lambda session: session.way.sendall(content)

    @staticmethod
    def send_slowly(content):
        def send(session):
            for byte in content:
                session.way.sendall(bytes([byte]))
                time.sleep(0.02)

        return send


class HostileSwitch:
    """Answers every rank with these steps, and probes with echoes (R-017), until its context ends.
    A silent one does not answer keepalives."""

    def __init__(self, steps, is_silent=False):
        self.steps, self.is_silent = steps, is_silent
        self.ended = threading.Semaphore(0)  # counts the ranks that have ended their connection
        while True:
            self.server = socket.create_server(("127.0.0.1", 0))
            self.port = self.server.getsockname()[1]
            self.packets = socket.socket(type=socket.SOCK_DGRAM)
            with contextlib.suppress(OSError):
                self.packets.bind(("127.0.0.1", self.port))
                return
            self.server.close()
            self.packets.close()

    def __enter__(self):
        self.over, over = socket.socketpair()
        threading.Thread(target=self._serve, args=(over,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.close()

    def _serve(self, over):
        with over, self.server, self.packets:
            while True:
                ready, _, _ = select.select([over, self.server, self.packets], [], [])
                if over in ready:
                    return
                if self.packets in ready:
                    self._echo()
                if self.server in ready:
                    rank, _ = self.server.accept()
                    threading.Thread(target=self._answer, args=(rank,), daemon=True).start()

    def _echo(self):
        with contextlib.suppress(OSError):
            datagram, sender = self.packets.recvfrom(1 << 16)
            if datagram.startswith(b"\xf0"):
                self.packets.sendto(b"\xf2" + datagram[1:], sender)

    def _answer(self, rank):
        Session(rank, self.port, self.is_silent).serve(self.steps)
        self.ended.release()
