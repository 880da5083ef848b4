# SPDX-License-Identifier: Apache-2.0
"""The list of attacks, the context that each gets, and raw HTTP/2 that does not enforce any rules.

An attack is a function of a Target and a random source. It ends by itself once Target.is_over(). It
never needs an answer, because a good defence may look like an error of a socket.
"""

import pathlib
import socket
import struct
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "spec_worker"))
import http2
import joining

SEND_PATIENCE_S = 0.5
# The most connections and streams that one attack may hold at a time, so that the test's own limits
# do not end it.
CONNECTIONS_MAX = 400
ATTACKS = {}


def attack(function):
    """Adds a function to the list, under its name."""
    ATTACKS[function.__name__] = function
    return function


class Target:
    """A switch under attack, for a number of seconds."""

    def __init__(self, host, port, source, seconds):
        self.address = (host, port)
        self.source = (source, 0)
        self.until = time.monotonic() + seconds
        self.names = 0

    def connect(self):
        """Connects from the attacker's own address. The limits count by address."""
        return socket.create_connection(self.address, SEND_PATIENCE_S, self.source)

    def is_over(self):
        return time.monotonic() >= self.until

    def pause(self, seconds):
        time.sleep(max(0, min(seconds, self.until - time.monotonic())))

    def until_over(self, pause_s=0.01):
        """Yields the number of each turn, with a pause between turns."""
        turn = 0
        while not self.is_over():
            yield turn
            turn += 1
            self.pause(pause_s)

    def new_name(self, draw):
        self.names += 1
        return f"hostile-{draw.randrange(1 << 48):x}-{self.names}"


class Connection:
    """HTTP/2 that sends any bytes. The attack itself reads the answers."""

    def __init__(self, target, settings=b"", greet=True):
        self.socket = target.connect()
        self.socket.settimeout(SEND_PATIENCE_S)
        self.authority = "{}:{}".format(*target.address)
        self.next_stream = 1
        if greet:
            self.send(http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0, settings))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, content):
        self.socket.sendall(content)

    def frame(self, kind, flags, stream, payload=b""):
        self.send(http2.frame(kind, flags, stream, payload))

    def open(self, path=joining.PATH, end=False):
        """Begins a gRPC stream, and returns its number."""
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.frame(
            http2.HEADERS,
            http2.END_HEADERS | (http2.END_STREAM if end else 0),
            stream,
            http2.request_headers(path, self.authority),
        )
        return stream

    def say(self, stream, **step):
        self.data(stream, http2.grpc_message(joining.encode(joining.REQUEST, step)))

    def data(self, stream, content):
        """Sends in frames no longer than every receiver must accept."""
        for first in range(0, len(content), 1 << 14):
            self.frame(http2.DATA, 0, stream, content[first : first + (1 << 14)])

    def discard(self):
        """Reads the bytes that have come. Returns whether the connection is still open."""
        self.socket.setblocking(False)
        try:
            while received := self.socket.recv(1 << 16):
                pass
            return bool(received)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            self.socket.settimeout(SEND_PATIENCE_S)

    def cut(self):
        """Closes with a reset, as the kernel does for a killed process that left data unread."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def hello(name, as_rank=0, of=2, **changes):
    """Returns an honest Hello, except for the changes."""
    return {
        "protocol_version": joining.PROTOCOL_VERSION,
        "job": name,
        "rank": as_rank,
        "world": of,
        "datagram_bytes_max": 1472,
        "small_slots": 64,
        "bulk_slots": 448,
        "patience_ms": 5000,
        **changes,
    }


def close_all(connections):
    for connection in connections:
        connection.socket.close()
    connections.clear()
