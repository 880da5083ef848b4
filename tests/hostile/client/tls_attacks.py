# SPDX-License-Identifier: Apache-2.0
"""Attacks on TLS: handshakes without end, half of them and slow ones, floods of KeyUpdates and of
records that carry nothing, and ends at every moment. At a switch without keys they meet its alert.

The attacks after a handshake know no token: a stranger can shake hands, but not join.
"""

import contextlib
import socket
import struct

import tls_end
from attacks import CONNECTIONS_MAX, attack, close_all, flood_max, greeting, plain_connection
from frames import frame

APPLICATION_DATA, HANDSHAKE, ALERT, CHANGE_CIPHER = 23, 22, 21, 20
BLOCKED_S = 1  # a call of OpenSSL may block this long
RECORD_MAX = 4608  # the longest record that a rank may send


@contextlib.contextmanager
def secured(target, deaf=False):
    """Yields a connection with TLS, or None if the handshake has failed."""
    with plain_connection(target, deaf) as connection:
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            limit = struct.pack("ll", BLOCKED_S, 0)
            connection.socket.setsockopt(socket.SOL_SOCKET, option, limit)
        with tls_end.TlsEnd(connection.socket) as end:
            yield end if end.connect() else None


@attack
def tls_handshake_flood(target, draw):
    """ClientHellos as fast as one process can send them. The switch computes its answer to each."""
    held = []
    for _ in target.until_over(0):
        with contextlib.suppress(OSError):
            connection = plain_connection(target)
            held.append(connection)
            connection.send(tls_end.client_hello())
        if len(held) == CONNECTIONS_MAX:
            close_all(held)
    close_all(held)


@attack
def tls_half_handshakes(target, draw):
    """As many handshakes as the switch lets begin. None goes on after the ClientHello."""
    held, most = [], flood_max()
    for _ in target.until_over(0):
        if len(held) >= most:
            target.pause(0.1)
            continue
        try:
            held.append(plain_connection(target))
            held[-1].send(tls_end.client_hello())
        except OSError:
            target.pause(0.1)
    close_all(held)


@attack
def tls_first_bytes(target, draw):
    """A piece of a ClientHello, and then silence."""
    held = []
    for _ in target.until_over(0.002):
        if len(held) < CONNECTIONS_MAX:
            held.append(plain_connection(target))
            whole = tls_end.client_hello()
            held[-1].send(whole[: draw.randrange(1, len(whole))])
    close_all(held)


@attack
def tls_slow_handshakes(target, draw):
    """ClientHellos byte by byte, in one record or in a record for each byte."""
    held = []
    for number in range(100):
        connection = plain_connection(target)
        hello = tls_end.client_hello()
        if number % 2:
            message = hello[5:]
            hello = tls_end.record(HANDSHAKE, message[:4]) + b"".join(
                tls_end.record(HANDSHAKE, message[at : at + 1]) for at in range(4, len(message))
            )
        held.append((connection, bytearray(hello)))
    for _ in target.until_over(0.02):
        for connection, left in held:
            with contextlib.suppress(OSError):
                connection.send(bytes(left[:1]))
            del left[:1]
    close_all([connection for connection, _ in held])


@attack
def tls_nonsense(target, draw):
    """Records of random kinds and lengths in place of a handshake, and spoilt ClientHellos."""
    for _ in target.until_over(0.002):
        with plain_connection(target) as connection:
            hello = bytearray(tls_end.client_hello())
            hello[draw.randrange(len(hello))] ^= draw.randrange(1, 256)
            long = b"\1" + draw.randbytes(3) + draw.randbytes(draw.randrange(4000))
            connection.send(
                draw.choice(
                    (
                        bytes(hello),
                        tls_end.record(HANDSHAKE, long),
                        tls_end.record(draw.randrange(20, 25), draw.randbytes(draw.randrange(99))),
                        struct.pack("!BHH", HANDSHAKE, 0x0301, draw.randrange(1 << 16)),
                        tls_end.client_hello() + draw.randbytes(200),
                    )
                )
            )
            connection.discard()


@attack
def tls_key_updates(target, draw):
    """KeyUpdates without end, half of which ask for answers that nobody reads."""
    for _ in target.until_over():
        with secured(target, draw.random() < 0.5) as end:
            asks = draw.random() < 0.5
            while end and end.update_keys(asks) and not target.is_over():
                pass


def send_records(target, draw, kinds):
    """Sends records of these kinds and texts without end, with the right keys."""
    for _ in target.until_over():
        with secured(target) as end:
            for _ in target.until_over(0) if end else ():
                kind, text = draw.choice(kinds)
                try:
                    end.socket.sendall(end.forged(kind, text))
                except OSError:
                    break


@attack
def tls_empty_records(target, draw):
    """Records without text. In half of the tries a byte of a keepalive comes in between, so that no
    long row of them ends the connection."""
    empty = (APPLICATION_DATA, b"")
    beside = draw.choice(((), ((APPLICATION_DATA, b"\0"),)))
    send_records(target, draw, ((empty,) * draw.choice((1, 4)) + beside))


@attack
def tls_wrong_records(target, draw):
    """Messages and alerts that have no place there, with the right keys."""
    send_records(
        target,
        draw,
        (
            (HANDSHAKE, b"\x18\0\0\1"),  # a KeyUpdate that is cut
            (HANDSHAKE, b"\1\0\0\0"),  # another ClientHello
            (HANDSHAKE, b"\x0b\0\xff\xff"),  # a long certificate begins
            (ALERT, b"\1\x5a"),  # a warning
            (CHANGE_CIPHER, b"\1"),
            (0, b"x"),
            (APPLICATION_DATA, bytes(RECORD_MAX)),
        ),
    )


@attack
def tls_ends(target, draw):
    """Ends after every step: of TLS alone, of the connection alone, of both, and resets."""
    for _ in target.until_over(0.002):
        with secured(target) as end:
            if not end:
                continue
            whole = greeting(target.new_name(draw))
            end.write(whole[: draw.choice((0, 3, len(whole)))] or frame())
            for step in draw.sample(("tls", "tcp", "read", "cut"), draw.randrange(1, 4)):
                with contextlib.suppress(OSError):
                    if step == "tls":
                        end.end()
                    elif step == "tcp":
                        end.socket.shutdown(socket.SHUT_WR)
                    elif step == "read":
                        end.read()
                    else:
                        linger = struct.pack("ii", 1, 0)
                        end.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


@attack
def tls_keepalives_before_the_hello(target, draw):
    """Questions in a record each, from connections that never say Hello."""
    for _ in target.until_over():
        with secured(target, draw.random() < 0.5) as end:
            while end and end.write(frame()) and not target.is_over():
                pass


@attack
def tls_hellos_without_a_token(target, draw):
    """Shakes hands, says Hello, and talks on whatever the switch answers."""
    for _ in target.until_over():
        with secured(target) as end:
            if end and end.write(greeting(target.new_name(draw))):
                while end.write(draw.choice((frame(), bytes(4000)))) and not target.is_over():
                    pass
