# SPDX-License-Identifier: Apache-2.0
"""The list of attacks, the context that each gets, and a join connection that does not enforce any
rules.

An attack is a function of a Target and a random source. It ends by itself once Target.is_over(). It
never needs an answer, because a good defence may look like an error of a socket.
"""

import contextlib
import pathlib
import resource
import socket
import ssl
import struct
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples" / "spec_worker"))
import frames
import joining

SEND_PATIENCE_S = 0.5
# The most connections that one attack may hold at a time, below the usual limit of descriptors. A
# flood raises that limit, and may hold more connections than a switch grants one address.
CONNECTIONS_MAX, FLOOD_MAX = 400, 7000
DESCRIPTORS_BESIDE = 100
KEEP_EVERY_S = 2.0
ATTACKS = {}


def attack(function):
    """Adds a function to the list, under its name."""
    ATTACKS[function.__name__] = function
    return function


def flood_max():
    """Raises this process's limit of descriptors, and returns how many connections a flood has."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return min(FLOOD_MAX, most - DESCRIPTORS_BESIDE)


class Target:
    """A switch under attack, for a number of seconds. With a fingerprint, it uses keys. Attackers
    have no token."""

    def __init__(self, host, port, source, seconds, fingerprint=""):
        self.address = (host, port)
        self.fingerprint = fingerprint
        self.source = (source, 0)
        self.until = time.monotonic() + seconds
        self.names = 0

    def connect(self, deaf=False):
        """Connects from the attacker's own address. The limits count by address. A deaf socket has
        room for as little as the system allows."""
        way = socket.socket()
        try:
            if deaf:
                way.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            way.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            way.settimeout(SEND_PATIENCE_S)
            way.bind(self.source)
            way.connect(self.address)
        except OSError:
            way.close()
            raise
        return way

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
    """A join connection that sends any bytes, over TLS if the switch uses keys. The attack itself
    reads the answers."""

    def __init__(self, target, deaf=False, is_plain=False):
        self.socket = target.connect(deaf)
        if target.fingerprint and not is_plain:
            try:
                self.socket = frames.secured(self.socket, target.fingerprint)
            except OSError:
                self.socket.close()
                raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, content):
        self.socket.sendall(content)

    def say(self, **step):
        self.send(frames.frame(joining.encode(joining.REQUEST, step)))

    def ask(self, times=1):
        """Sends keepalives."""
        self.send(frames.frame() * times)

    def discard(self):
        """Reads the bytes that have come. Returns whether the connection is still open."""
        self.socket.setblocking(False)
        try:
            while received := self.socket.recv(1 << 16):
                pass
            return bool(received)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        finally:
            self.socket.settimeout(SEND_PATIENCE_S)

    def end(self):
        """Ends the attacker's direction alone."""
        socket.socket.shutdown(self.socket, socket.SHUT_WR)

    def close(self):
        self.socket.close()

    def cut(self):
        """Closes with a reset, as the kernel does for a killed process that left data unread."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def plain_connection(target, deaf=False):
    """Returns a connection for an attack that speaks TLS itself, or does not."""
    return Connection(target, deaf, is_plain=True)


@contextlib.contextmanager
def kept_alive(connections):
    """Sends keepalives meanwhile, as living ranks do, and reads nothing."""
    over = threading.Event()

    def keep():
        while not over.wait(KEEP_EVERY_S):
            for each in list(connections):
                with contextlib.suppress(OSError):
                    each.ask()

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


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


def greeting(name, as_rank=0, of=2, **changes):
    """Returns the bytes of a Hello's frame."""
    request = {"hello": hello(name, as_rank, of, **changes)}
    return frames.frame(joining.encode(joining.REQUEST, request))


def close_all(connections):
    for connection in connections:
        connection.close()
    connections.clear()
