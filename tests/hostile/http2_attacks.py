# SPDX-License-Identifier: Apache-2.0
"""Attacks on the listener and its HTTP/2: connections that are silent, send too much, or send
nonsense."""

import struct

import joining
from attacks import CONNECTIONS_MAX, Connection, attack, close_all, hello
from http2 import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    PUSH,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
    grpc_message,
    literal,
    request_headers,
)

INITIAL_WINDOW, MAX_STREAMS, HEADER_TABLE = 4, 3, 1
CANCEL = 8


def setting(number, value):
    return struct.pack("!HI", number, value)


@attack
def idle_connections(target, draw):
    """TCP connections that send nothing."""
    held = []
    for _ in range(CONNECTIONS_MAX):
        held.append(target.connect())
        if target.is_over():
            break
    target.pause(60)
    for each in held:
        each.close()


@attack
def half_open_http2(target, draw):
    """A preface, or a piece of one, or settings, and then silence."""
    held = []
    for _ in target.until_over(0.002):
        if len(held) < CONNECTIONS_MAX:
            held.append(Connection(target, greet=False))
            whole = PREFACE + frame(SETTINGS, 0, 0)
            held[-1].send(whole[: draw.randrange(1, len(whole) + 1)])
    close_all(held)


@attack
def garbage_before_the_preface(target, draw):
    """Other protocols, and random bytes."""
    others = (
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\0" * 64,
        b"\xff" * 4096,
        PREFACE[:-1] + b"X",
    )
    for _ in target.until_over():
        with Connection(target, greet=False) as connection:
            connection.send(draw.choice((*others, draw.randbytes(draw.randrange(1, 5000)))))
            connection.discard()


@attack
def connections_that_come_and_go(target, draw):
    """Connections as fast as one process can open them, ended in order or by a reset."""
    for _ in target.until_over(0.001):
        connection = Connection(target, greet=draw.random() < 0.5)
        if draw.random() < 0.5:
            connection.cut()
        else:
            connection.socket.close()


@attack
def a_thousand_streams(target, draw):
    """Many streams on a few connections, each with a Hello that waits for others."""
    held = [Connection(target) for _ in range(draw.choice((1, 10)))]
    for number in range(1000):
        connection = held[number % len(held)]
        stream = connection.open()
        if draw.random() < 0.8:
            connection.say(stream, hello=hello(target.new_name(draw)))
        connection.discard()
        if target.is_over():
            break
    target.pause(60)
    close_all(held)


@attack
def rapid_reset(target, draw):
    """Streams that are cancelled as soon as they are open (CVE-2023-44487)."""
    for _ in target.until_over():
        with Connection(target) as connection:
            for _ in range(500):
                stream = connection.open()
                connection.frame(RST_STREAM, 0, stream, struct.pack("!I", CANCEL))
                if stream % 64 == 1 and not connection.discard():
                    break


@attack
def ping_flood(target, draw):
    for _ in target.until_over():
        with Connection(target) as connection:
            for _ in range(100):
                connection.send(frame(PING, 0, 0, draw.randbytes(8)) * 50)
                target.pause(0.001)
                if draw.random() < 0.5 and not connection.discard():
                    break


@attack
def settings_flood(target, draw):
    for _ in target.until_over():
        with Connection(target) as connection:
            for _ in range(100):
                number = draw.choice((HEADER_TABLE, MAX_STREAMS, INITIAL_WINDOW, 0x99))
                value = draw.choice((0, 1, 1 << 14, (1 << 31) - 1))
                connection.send(frame(SETTINGS, 0, 0, setting(number, value)) * 20)
                if not connection.discard():
                    break


@attack
def empty_frames(target, draw):
    """DATA without data, priorities, and acknowledgements of nothing (CVE-2019-9518)."""
    for _ in target.until_over():
        with Connection(target) as connection:
            stream = connection.open()
            for _ in range(200):
                kind, flags, where, payload = draw.choice(
                    (
                        (DATA, 0, stream, b""),
                        (PRIORITY, 0, stream, struct.pack("!IB", 0, 1)),
                        (SETTINGS, ACK, 0, b""),
                        (PING, ACK, 0, bytes(8)),
                        (CONTINUATION, 0, stream, b""),
                        (0x77, 0, stream, b"x"),
                    )
                )
                connection.send(frame(kind, flags, where, payload) * 10)
                if not connection.discard():
                    break


@attack
def continuation_flood(target, draw):
    """A header block that never ends (CVE-2024-27316)."""
    for _ in target.until_over():
        with Connection(target) as connection:
            connection.frame(HEADERS, 0, 1, request_headers(joining.PATH, connection.authority))
            for number in range(2000):
                connection.frame(
                    CONTINUATION,
                    0,
                    1,
                    b"".join(
                        literal(f"x-{number}-{i}", "y" * 100)
                        for i in range(draw.choice((0, 1, 50)))
                    ),
                )
                if number % 32 == 0 and not connection.discard():
                    break


@attack
def huge_headers(target, draw):
    """Up to a megabyte of headers in a block that does end."""
    for _ in target.until_over():
        with Connection(target) as connection:
            block = request_headers(joining.PATH, connection.authority)
            block += literal("x-long", "z" * 120) * draw.choice((100, 1000, 8000))
            pieces = [block[at : at + 16000] for at in range(0, len(block), 16000)]
            for number, piece in enumerate(pieces):
                connection.frame(
                    CONTINUATION if number else HEADERS,
                    END_HEADERS if number + 1 == len(pieces) else 0,
                    1,
                    piece,
                )
            connection.discard()


@attack
def broken_header_blocks(target, draw):
    """HPACK that refers to missing entries, is cut off, or is random."""
    for _ in target.until_over():
        with Connection(target) as connection:
            for _ in range(5):
                block = draw.choice(
                    (
                        b"\xff\xff\xff\xff\xff\xff\xff\xff",
                        b"\xbf",
                        b"\x00\x7f",
                        b"\x3f\xe1\xff\xff\xff\x0f",
                        draw.randbytes(200),
                    )
                )
                connection.frame(HEADERS, END_HEADERS, connection.next_stream, block)
                connection.next_stream += 2
            connection.discard()


@attack
def frames_against_the_rules(target, draw):
    """Streams that were never opened, even numbers, wrong lengths, pushes, and endings."""
    for _ in target.until_over():
        with Connection(target) as connection:
            connection.open()
            for _ in range(20):
                connection.frame(
                    draw.choice(
                        (
                            DATA,
                            HEADERS,
                            PRIORITY,
                            RST_STREAM,
                            SETTINGS,
                            PUSH,
                            PING,
                            GOAWAY,
                            WINDOW_UPDATE,
                            CONTINUATION,
                            0xEE,
                        )
                    ),
                    draw.randrange(256),
                    draw.choice((0, 1, 2, 3, 99, (1 << 31) - 1)),
                    draw.randbytes(draw.choice((0, 1, 4, 6, 8, 9, 100))),
                )
            connection.discard()


@attack
def windows_at_their_ends(target, draw):
    """Window updates of 0 and of too much, and frames that are too long."""
    for _ in target.until_over():
        with Connection(target) as connection:
            stream = connection.open()
            what = draw.choice(("zero", "overflow", "long", "padding"))
            if what == "zero":
                connection.frame(WINDOW_UPDATE, 0, stream, struct.pack("!I", 0))
            elif what == "overflow":
                connection.send(frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", (1 << 31) - 1)) * 3)
            elif what == "long":
                connection.frame(DATA, 0, stream, bytes(1 << 20))
            else:
                connection.frame(DATA, 0x8, stream, b"\xff" + bytes(10))
            connection.discard()


@attack
def zero_window(target, draw):
    """Streams with a window of 0, and Hellos that must be answered."""
    held = []
    for _ in target.until_over(0.02):
        if len(held) < 50:
            held.append(Connection(target, setting(INITIAL_WINDOW, 0)))
            for _ in range(4):
                name = target.new_name(draw)
                for rank in range(2):
                    held[-1].say(held[-1].open(), hello=hello(name, rank))
    close_all(held)


@attack
def slow_sender(target, draw):
    """A Hello byte by byte."""
    held = []
    for _ in range(50):
        connection = Connection(target)
        name = target.new_name(draw)
        message = grpc_message(joining.encode(joining.REQUEST, {"hello": hello(name)}))
        held.append((connection, connection.open(), bytearray(message)))
    for _ in target.until_over(0.05):
        for connection, stream, left in held:
            if left:
                connection.frame(DATA, 0, stream, bytes([left.pop(0)]))
    close_all([connection for connection, _, _ in held])


@attack
def messages_that_promise_much(target, draw):
    """gRPC lengths up to 4 GB with few bytes after them, and compression that was not agreed."""
    held = []
    for _ in target.until_over(0.005):
        connection = Connection(target)
        stream = connection.open(draw.choice((joining.PATH, joining.PATH, "/", "/x/y", "*")))
        prefix = struct.pack(
            "!BI",
            draw.choice((0, 1, 255)),
            draw.choice((0, 1, 1 << 16, 1 << 22, (1 << 31) - 1, (1 << 32) - 1)),
        )
        connection.data(stream, prefix + draw.randbytes(draw.randrange(100)))
        held.append(connection)
        if len(held) > 100:
            close_all(held)
    close_all(held)
