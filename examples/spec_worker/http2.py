# SPDX-License-Identifier: Apache-2.0
"""The part of HTTP/2 (RFC 9113) that one gRPC stream needs: it sends and receives messages.

Header blocks are sent as literals. Received header blocks are not decoded, because a worker needs
only the end of the stream. One thread owns a Call.
"""

import select
import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
FRAME_HEADER_BYTES = 9
MESSAGE_BYTES_MAX = 4 << 20
STREAM = 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack("!I", len(payload))[1:] + struct.pack("!BBI", kind, flags, stream) + payload


def literal(name, value):
    """Returns a literal header without indexing and Huffman coding. Both texts are shorter than 127
    bytes."""
    return b"".join((b"\0", bytes([len(name)]), name.encode(), bytes([len(value)]), value.encode()))


def request_headers(path, authority):
    return b"".join(
        literal(*pair)
        for pair in (
            (":method", "POST"),
            (":scheme", "http"),
            (":path", path),
            (":authority", authority),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        )
    )


def grpc_message(content):
    """Returns the flag for no compression, the length and the bytes."""
    return struct.pack("!BI", 0, len(content)) + content


class Closed(Exception):
    """The other side has ended the stream or the connection."""


class Call:
    """One bidirectional gRPC stream, with its own TCP connection."""

    def __init__(self, address, path, timeout_s, source=None):
        self.socket = socket.create_connection(address, timeout_s, source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.closed = ""
        self._bytes = b""
        self._body = b""
        self._messages = []
        self.socket.sendall(
            PREFACE
            + frame(SETTINGS, 0, 0)
            + frame(
                HEADERS, END_HEADERS, STREAM, request_headers(path, "{}:{}".format(*address[:2]))
            )
        )

    def fileno(self):
        return self.socket.fileno()

    def send(self, content):
        """Sends a message, which is far smaller than the first window of 65,535 bytes."""
        self.socket.sendall(frame(DATA, 0, STREAM, grpc_message(content)))

    def end(self):
        """Ends this side of the stream."""
        self.socket.sendall(frame(DATA, END_STREAM, STREAM))

    def close(self):
        self.socket.close()

    def receive(self, timeout_s):
        """Returns the next message, or None if none arrives in time. Raises Closed after the last
        one."""
        until = time.monotonic() + timeout_s
        while not self._messages:
            if self.closed:
                raise Closed(self.closed)
            ready, _, _ = select.select([self.socket], [], [], max(0, until - time.monotonic()))
            if not ready:
                return None
            self._take(self._read())
        return self._messages.pop(0)

    def _read(self):
        try:
            return self.socket.recv(1 << 16)
        except ConnectionError as error:
            self.closed = str(error)
            return b""

    def _take(self, received):
        if not received:
            self.closed = self.closed or "the connection was closed"
        self._bytes += received
        while len(self._bytes) >= FRAME_HEADER_BYTES:
            length = int.from_bytes(self._bytes[:3], "big")
            kind, flags, stream = struct.unpack_from("!BBI", self._bytes, 3)
            if len(self._bytes) < FRAME_HEADER_BYTES + length:
                return
            payload = self._bytes[FRAME_HEADER_BYTES : FRAME_HEADER_BYTES + length]
            self._bytes = self._bytes[FRAME_HEADER_BYTES + length :]
            self._handle(kind, flags, stream, payload)

    def _handle(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            self.socket.sendall(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self.closed = "the server sent GOAWAY"
        elif stream != STREAM:
            return
        elif kind == RST_STREAM:
            self.closed = "the server cancelled the stream"
        elif kind == DATA:
            self._take_data(flags, payload)
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.closed = self.closed or "the server ended the stream"

    def _take_data(self, flags, payload):
        if payload:  # restores the windows of the stream and the connection
            credit = struct.pack("!I", len(payload))
            self.socket.sendall(
                frame(WINDOW_UPDATE, 0, 0, credit) + frame(WINDOW_UPDATE, 0, STREAM, credit)
            )
        if flags & PADDED:
            payload = payload[1 : len(payload) - payload[0]]
        self._body += payload
        while len(self._body) >= 5:
            compressed, length = struct.unpack_from("!BI", self._body)
            if compressed or length > MESSAGE_BYTES_MAX:
                raise Closed("a compressed or too long message")
            if len(self._body) < 5 + length:
                return
            self._messages.append(self._body[5 : 5 + length])
            self._body = self._body[5 + length :]
