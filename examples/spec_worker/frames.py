# SPDX-License-Identifier: Apache-2.0
"""The join connection: messages as frames over TCP (J-001), or over TLS (J-007), and keepalives
(J-006).

There is no thread that keeps the connection alive. Its owner calls keep() or receive() at least
every few seconds, also while it exchanges packets. One thread owns a Connection.
"""

import base64
import hashlib
import hmac
import select
import socket
import ssl
import time

LENGTH_BYTES = 4
REQUEST_BYTES_MAX = 4096  # a message of a rank
REPLY_BYTES_MAX = 262_144  # a message of a switch
ASK_EVERY_S = 5.0
LOST_AFTER_S = 10.0  # without a word from the other end


def frame(content=b""):
    """Returns a message behind its length. Without a message it is a keepalive."""
    return len(content).to_bytes(LENGTH_BYTES, "big") + content


class Closed(Exception):
    """The other end says nothing more. The message has the reason."""


def fingerprint_of(certificate):
    """Returns the text that names a certificate, which is given in DER."""
    digest = hashlib.sha256(certificate).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def secured(plain, fingerprint):
    """Returns the connection with TLS 1.3. Raises OSError unless the switch has the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the fingerprint counts instead
    secure = context.wrap_socket(plain)
    shown = fingerprint_of(secure.getpeercert(binary_form=True))
    if hmac.compare_digest(shown, fingerprint):
        return secure
    secure.close()
    raise OSError(f"the switch has the certificate {shown} instead of {fingerprint}")


class Connection:
    """A rank's end of a connection to a switch. With a fingerprint it speaks TLS."""

    def __init__(self, address, timeout_s, source=None, fingerprint=""):
        self.socket = socket.create_connection(address, timeout_s, source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if fingerprint:
            self.socket = secured(self.socket, fingerprint)
        self.closed = ""
        self._received = b""
        self._messages = []
        self._is_answered = self._is_greeted = False
        self._heard_at = self._asked_at = time.monotonic()

    def fileno(self):
        return self.socket.fileno()

    def send(self, content):
        """Sends a message. A keepalive goes out right after the first one, which is the Hello."""
        self._send(frame(content) + (b"" if self._is_greeted else frame()))
        self._is_greeted = True

    def end(self):
        """Ends this direction of the connection."""
        try:
            # SSLSocket.shutdown() would also end the reading of TLS.
            socket.socket.shutdown(self.socket, socket.SHUT_WR)
        except OSError:
            pass  # the connection has broken, which receive() tells

    def close(self):
        self.socket.close()

    def receive(self, timeout_s):
        """Returns the next message, or None if none arrives in time. Raises Closed after the last
        one."""
        until = time.monotonic() + timeout_s
        while True:
            self.keep()
            if self._messages:
                return self._messages.pop(0)
            if self.closed:
                raise Closed(self.closed)
            now = time.monotonic()
            if now >= until:
                return None
            select.select([self.socket], [], [], max(0, min(until, self.next_at()) - now))

    def keep(self):
        """Reads some of what has arrived, without waiting, and sends a keepalive when it is
        time."""
        if not self.closed:
            self._read()
        now = time.monotonic()
        if self._is_answered and now >= self._heard_at + LOST_AFTER_S:
            self.closed = self.closed or f"it has said nothing for {LOST_AFTER_S:.0f} s"
        if now >= self.next_at():
            self._send(frame())
            self._asked_at = now

    def next_at(self):
        """Returns the time by which keep() must be called again."""
        return self._asked_at + ASK_EVERY_S

    def _send(self, content):
        try:
            self.socket.sendall(content)
        except OSError:
            pass  # what the switch has said before says more, and receive() returns it

    def _read(self):
        if not select.select([self.socket], [], [], 0)[0]:
            return
        timeout_s = self.socket.gettimeout()
        try:
            # A record of TLS may have come in part. One has at most 16 KiB of text, and is read as
            # a whole, so that none of it waits where select() does not look.
            self.socket.settimeout(0)
            received = self.socket.recv(1 << 16)
        except (BlockingIOError, ssl.SSLWantReadError):
            return
        except OSError as error:
            self.closed = str(error)
            return
        finally:
            self.socket.settimeout(timeout_s)
        if not received:
            self.closed = "it closed the connection"
            return
        self._heard_at = time.monotonic()
        self._is_answered = True
        self._received += received
        self._take_frames()

    def _take_frames(self):
        at = 0
        while len(self._received) >= at + LENGTH_BYTES:
            first = at + LENGTH_BYTES
            length = int.from_bytes(self._received[at:first], "big")
            if length > REPLY_BYTES_MAX:
                self.closed = (
                    f"it announced a message of {length} bytes; {REPLY_BYTES_MAX} are allowed"
                )
                break
            if len(self._received) < first + length:
                break
            if length:
                self._messages.append(self._received[first : first + length])
            at = first + length
        self._received = self._received[at:]
