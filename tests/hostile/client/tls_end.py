# SPDX-License-Identifier: Apache-2.0
"""A client of TLS that does what Python's ssl does not offer: KeyUpdates, empty records, records of
any kind, and ends at any moment. It calls the OpenSSL that Python itself uses."""

import ctypes
import ctypes.util
import hmac
import os
import struct

KEY_UPDATE_NOT_REQUESTED, KEY_UPDATE_REQUESTED = 0, 1
_GCM_GET_TAG = 0x10
_TAG_BYTES = 16
_KEYLOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)

_ssl = ctypes.CDLL(ctypes.util.find_library("ssl") or "libssl.so.3")
_crypto = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
_POINTERS = (
    (_ssl, "TLS_client_method", ()),
    (_ssl, "SSL_CTX_new", (ctypes.c_void_p,)),
    (_ssl, "SSL_new", (ctypes.c_void_p,)),
    (_crypto, "EVP_CIPHER_CTX_new", ()),
    (_crypto, "EVP_aes_128_gcm", ()),
)
_NUMBERS = (
    (_ssl, "SSL_CTX_free", (ctypes.c_void_p,)),
    (_ssl, "SSL_CTX_set_keylog_callback", (ctypes.c_void_p, _KEYLOG)),
    (_ssl, "SSL_CTX_set_ciphersuites", (ctypes.c_void_p, ctypes.c_char_p)),
    (_ssl, "SSL_free", (ctypes.c_void_p,)),
    (_ssl, "SSL_set_fd", (ctypes.c_void_p, ctypes.c_int)),
    (_ssl, "SSL_connect", (ctypes.c_void_p,)),
    (_ssl, "SSL_write", (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)),
    (_ssl, "SSL_read", (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)),
    (_ssl, "SSL_key_update", (ctypes.c_void_p, ctypes.c_int)),
    (_ssl, "SSL_do_handshake", (ctypes.c_void_p,)),
    (_ssl, "SSL_shutdown", (ctypes.c_void_p,)),
    (_crypto, "EVP_CIPHER_CTX_free", (ctypes.c_void_p,)),
)
for _library, _name, _types in _POINTERS + _NUMBERS:
    _function = getattr(_library, _name)
    _function.argtypes = _types
    if (_library, _name, _types) in _POINTERS:
        _function.restype = ctypes.c_void_p


def _expanded(secret, label, count):
    """HKDF-Expand-Label of RFC 8446, section 7.1, for at most 32 bytes."""
    name = b"tls13 " + label
    info = struct.pack("!HB", count, len(name)) + name + b"\0"
    return hmac.digest(secret, info + b"\1", "sha256")[:count]


def _sealed(key, nonce, head, text):
    """AES-128-GCM, without a package for it."""
    context = _crypto.EVP_CIPHER_CTX_new()
    number, pointer = ctypes.c_int(), ctypes.c_void_p
    out, tag = ctypes.create_string_buffer(len(text) + 16), ctypes.create_string_buffer(_TAG_BYTES)
    _crypto.EVP_EncryptInit_ex(
        pointer(context), pointer(_crypto.EVP_aes_128_gcm()), None, key, nonce
    )
    _crypto.EVP_EncryptUpdate(pointer(context), None, ctypes.byref(number), head, len(head))
    _crypto.EVP_EncryptUpdate(pointer(context), out, ctypes.byref(number), text, len(text))
    _crypto.EVP_EncryptFinal_ex(pointer(context), None, ctypes.byref(number))
    _crypto.EVP_CIPHER_CTX_ctrl(pointer(context), _GCM_GET_TAG, _TAG_BYTES, tag)
    _crypto.EVP_CIPHER_CTX_free(context)
    return out.raw[: len(text)] + tag.raw


class TlsEnd:
    """Shakes hands over a connected socket, which it does not own. Calls return whether they have
    succeeded. Only forged() records may follow one another after a forged one."""

    def __init__(self, plain):
        self.socket = plain
        plain.setblocking(True)  # the attacker sets limits with SO_SNDTIMEO and SO_RCVTIMEO
        self._secrets = {}
        self._forged = 0
        self._keylog = _KEYLOG(self._note)  # OpenSSL keeps no reference
        self._context = _ssl.SSL_CTX_new(_ssl.TLS_client_method())
        _ssl.SSL_CTX_set_keylog_callback(self._context, self._keylog)
        _ssl.SSL_CTX_set_ciphersuites(self._context, b"TLS_AES_128_GCM_SHA256")
        self._ssl = _ssl.SSL_new(self._context)
        _ssl.SSL_set_fd(self._ssl, plain.fileno())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()

    def free(self):
        _ssl.SSL_free(self._ssl)
        _ssl.SSL_CTX_free(self._context)

    def _note(self, _, line):
        name, _, secret = line.decode().split(" ")
        self._secrets[name] = bytes.fromhex(secret)

    def connect(self):
        return _ssl.SSL_connect(self._ssl) == 1

    def write(self, text):
        return _ssl.SSL_write(self._ssl, text, len(text)) == len(text)

    def read(self, count=1 << 14):
        room = ctypes.create_string_buffer(count)
        bytes_read = _ssl.SSL_read(self._ssl, room, count)
        return room.raw[: max(0, bytes_read)]

    def update_keys(self, asks_for_answer=True):
        wanted = KEY_UPDATE_REQUESTED if asks_for_answer else KEY_UPDATE_NOT_REQUESTED
        return _ssl.SSL_key_update(self._ssl, wanted) == 1 and _ssl.SSL_do_handshake(self._ssl) == 1

    def end(self):
        """Sends a close_notify."""
        return _ssl.SSL_shutdown(self._ssl) >= 0

    def forged(self, kind, text=b""):
        """Returns the next record of this client as bytes, of any kind, with the right keys."""
        secret = self._secrets["CLIENT_TRAFFIC_SECRET_0"]
        plain = text + bytes([kind])
        head = struct.pack("!BHH", 23, 0x0303, len(plain) + _TAG_BYTES)
        iv = _expanded(secret, b"iv", 12)
        nonce = (int.from_bytes(iv, "big") ^ self._forged).to_bytes(12, "big")
        self._forged += 1
        return head + _sealed(_expanded(secret, b"key", 16), nonce, head, plain)


def client_hello():
    """Returns a ClientHello that a switch answers, with a random key share on X25519."""
    share = struct.pack("!HH", 29, 32) + os.urandom(32)
    extensions = b"".join(
        struct.pack("!HH", number, len(body)) + body
        for number, body in (
            (43, b"\2\3\4"),  # TLS 1.3
            (10, struct.pack("!HH", 2, 29)),  # curves
            (13, struct.pack("!HH", 2, 0x0403)),  # ECDSA on P-256 with SHA-256
            (51, struct.pack("!H", len(share)) + share),
        )
    )
    body = b"\3\3" + os.urandom(32) + b"\0" + struct.pack("!HH", 2, 0x1301) + b"\1\0"
    body += struct.pack("!H", len(extensions)) + extensions
    message = b"\1" + struct.pack("!I", len(body))[1:] + body
    return record(22, message)


def record(kind, content):
    return struct.pack("!BHH", kind, 0x0301, len(content)) + content
