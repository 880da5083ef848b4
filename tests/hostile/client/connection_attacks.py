# SPDX-License-Identifier: Apache-2.0
"""Attacks on the listener and its frames: connections that are silent, send too much or too slowly,
send nonsense, or end at every moment."""

import struct

from attacks import CONNECTIONS_MAX, Connection, attack, close_all, flood_max, greeting
from frames import REQUEST_BYTES_MAX, frame

HUGE = (1 << 32) - 1


@attack
def idle_connections(target, draw):
    """More TCP connections that send nothing than the switch grants one address."""
    held = []
    most = flood_max()
    for _ in target.until_over(0):
        try:
            if len(held) < most:
                held.append(target.connect())
                continue
        except OSError:
            pass  # the switch is slow to accept so many
        target.pause(0.1)
    close_all(held)


@attack
def half_open_frames(target, draw):
    """A piece of a Hello or of its length, and then silence."""
    held = []
    for _ in target.until_over(0.002):
        if len(held) < CONNECTIONS_MAX:
            held.append(Connection(target))
            whole = greeting(target.new_name(draw))
            held[-1].send(whole[: draw.randrange(1, len(whole))])
    close_all(held)


@attack
def garbage_instead_of_a_hello(target, draw):
    """Other protocols, random bytes, and frames of them."""
    others = (
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\0\0\0\1\xff",
        b"\xff" * 4096,
        b"PRI",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nX",
    )
    for _ in target.until_over():
        with Connection(target) as connection:
            drawn = draw.randbytes(draw.randrange(1, 5000))
            connection.send(draw.choice((*others, drawn, frame(drawn))))
            connection.discard()


@attack
def connections_that_come_and_go(target, draw):
    """Connections as fast as one process can open them, ended in order or by a reset."""
    for _ in target.until_over(0.001):
        connection = Connection(target)
        connection.send(draw.choice((b"", frame(), b"\0", greeting(target.new_name(draw)))))
        if draw.random() < 0.5:
            connection.cut()
        else:
            connection.close()


@attack
def keepalives_before_the_hello(target, draw):
    """Questions without end from connections that never say Hello. Half of them read no answer."""
    for _ in target.until_over():
        held = [Connection(target, draw.random() < 0.5) for _ in range(10)]
        for turn in target.until_over(0):
            connection = held[turn % len(held)]
            connection.ask(draw.choice((1, 100, 10_000)))
            if draw.random() < 0.5 and not connection.discard():
                break
        close_all(held)


@attack
def keepalives_of_a_rank(target, draw):
    """Questions without end from ranks that wait for others. Half of them read no answer."""
    for _ in target.until_over():
        held = [Connection(target, draw.random() < 0.5) for _ in range(10)]
        for connection in held:
            connection.send(greeting(target.new_name(draw)))
        for turn in target.until_over(0):
            connection = held[turn % len(held)]
            connection.ask(draw.choice((1, 100, 10_000)))
            if draw.random() < 0.5 and not connection.discard():
                break
        close_all(held)


@attack
def slow_sender(target, draw):
    """Hellos byte by byte, and Readys byte by byte after a Hello that came at once."""
    held = []
    for number in range(50):
        connection = Connection(target)
        name = target.new_name(draw)
        slow = greeting(name, 0, 1)
        if number % 2:
            connection.send(slow)
            slow = frame(b"\x12\x09\x11" + bytes(8))  # ready: {site_order: 0}
        held.append((connection, bytearray(slow)))
    for _ in target.until_over(0.05):
        for connection, left in held:
            if left:
                connection.send(bytes([left.pop(0)]))
    close_all([connection for connection, _ in held])


@attack
def bytes_one_by_one(target, draw):
    """Messages in segments of one byte, as fast as they go."""
    for _ in target.until_over():
        with Connection(target) as connection:
            content = greeting(target.new_name(draw), 0, 1) + frame() * 1000
            for byte in content:
                connection.send(bytes([byte]))
                if target.is_over():
                    break


@attack
def lengths_that_never_come(target, draw):
    """Lengths that are allowed, with few bytes behind them, before a Hello and after one."""
    held = []
    for _ in target.until_over(0.002):
        connection = Connection(target)
        if draw.random() < 0.5:
            connection.send(greeting(target.new_name(draw)))
        length = draw.choice((1, 2, 255, 256, REQUEST_BYTES_MAX - 1, REQUEST_BYTES_MAX))
        connection.send(struct.pack("!I", length) + draw.randbytes(draw.randrange(length)))
        held.append(connection)
        if len(held) == CONNECTIONS_MAX:
            close_all(held)
    close_all(held)


@attack
def messages_that_are_too_long(target, draw):
    """Lengths up to 4 GiB, and as many of the bytes as the switch takes."""
    lengths = (REQUEST_BYTES_MAX + 1, 1 << 16, 1 << 20, (1 << 31) - 1, 1 << 31, HUGE)
    for _ in target.until_over(0.002):
        with Connection(target) as connection:
            if draw.random() < 0.5:
                connection.send(greeting(target.new_name(draw)))
            connection.send(struct.pack("!I", draw.choice(lengths)))
            for _ in range(draw.choice((0, 1, 100))):
                connection.send(bytes(1 << 16))
                if not connection.discard() or target.is_over():
                    break


@attack
def nonsense_after_the_hello(target, draw):
    """Random bytes, and random messages in right frames, from ranks that were let in."""
    for _ in target.until_over(0.003):
        with Connection(target) as connection:
            connection.send(greeting(target.new_name(draw)))
            for _ in range(draw.randrange(1, 20)):
                drawn = draw.randbytes(draw.randrange(1, 500))
                connection.send(draw.choice((drawn, frame(drawn))))
            connection.discard()


# What a connection has sent before it ends: each step of joining a job of one rank, and pieces of
# them.
READY = frame(b"\x12\x00")
LEAVE = frame(b"\x1a\x00")


def pieces_of_a_life(name):
    steps = (greeting(name, 0, 1), frame(), READY, frame(), LEAVE)
    said = b""
    for step in steps:
        yield said
        yield said + step[: len(step) // 2]
        said += step
    yield said


@attack
def ends_in_every_state(target, draw):
    """Ends of the attacker's direction, closes and resets, after every step and in the middle of
    it. Those that end one direction stay and read."""
    held = []
    for _ in target.until_over(0.002):
        for said in pieces_of_a_life(target.new_name(draw)):
            connection = Connection(target)
            connection.send(said)
            target.pause(draw.choice((0, 0, 0.002)))
            way = draw.choice((Connection.end, Connection.close, Connection.cut))
            way(connection)
            if way is Connection.end:
                held.append(connection)
            if target.is_over():
                break
        if len(held) > CONNECTIONS_MAX:
            close_all(held)
    close_all(held)


@attack
def talk_after_leaving(target, draw):
    """Megabytes after a Leave, which the switch reads and ignores."""
    for _ in target.until_over():
        with Connection(target) as connection:
            connection.send(greeting(target.new_name(draw), 0, 1) + READY + LEAVE)
            for _ in target.until_over(0):
                connection.send(draw.choice((frame(bytes(4096)) * 16, frame() * 1000, READY * 100)))
                if not connection.discard():
                    break
