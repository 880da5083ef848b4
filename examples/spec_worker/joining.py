# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving a job: the messages of proto/infold/v1/control.proto, encoded by hand.

A message is a dictionary with field names as keys. As in proto3, fields that are 0 or empty are not
sent, and missing fields are decoded as 0 or empty.
"""

import time

import frames

PROTOCOL_VERSION = 1
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# The fields of each message: name, number and type. A list with one type is a repeated field.
SITE_RECORD = {
    "formats": (1, int),
    "elements_max": (2, int),
    "workers_max": (3, int),
    "takes_sparse": (4, int),
    "verifies_checksums": (5, int),
    "pending_forms": (6, int),
    "native_types": (7, int),
    "formats_big_endian": (8, int),
    "reductions_lacking": (9, int),
}
RACK_SWITCH = {
    "identity": (1, str),
    "address": (2, str),
    "sites": (3, int),
    "record": (5, SITE_RECORD),
    "source": (6, str),
}
HELLO = {
    "protocol_version": (1, int),
    "job": (2, str),
    "rank": (3, int),
    "world": (4, int),
    "datagram_bytes_max": (5, int),
    "small_slots": (6, int),
    "bulk_slots": (7, int),
    "site_address": (8, str),
    "site_weight": (9, int),
    "patience_ms": (10, int),
    "host_identity": (11, str),
    "host_meeting": (12, str),
    "element_bytes": (13, int),
    "always_shares": (14, int),
    "rack": (15, RACK_SWITCH),
    "site_record": (16, SITE_RECORD),
    "source": (17, str),
    "wants_native": (18, int),
    "takes_brief": (19, int),
    "token": (20, str),
}
REFUSED = {"reason": (1, int), "message": (2, str), "rank": (3, int)}
READY = {
    "shares_memory": (1, int),
    "site_order": (2, "fixed64"),
    "verifies": (3, "optional"),
    "calls_finished": (4, int),
    "calls_beyond": (5, "fixed64"),
    "obstacle": (6, REFUSED),
}
LEAVE = {"abort": (1, bytes), "why": (2, REFUSED)}
TRANSFER = {
    "collective": (1, int),
    "reduction": (2, int),
    "format": (3, int),
    "type": (4, int),
    "elements": (5, int),
    "root": (6, int),
    "encoding": (7, int),
    "priority": (8, int),
    "after": (9, int),
    "sized_later": (10, int),
    "has_codes": (11, int),
}
TRANSFER_SIZE = {"transfer": (1, int), "elements": (2, int)}
REQUEST = {
    "hello": (1, HELLO),
    "ready": (2, READY),
    "leave": (3, LEAVE),
    "lost": (4, {}),
    "transfer": (5, TRANSFER),
    "transfer_size": (6, TRANSFER_SIZE),
}

GROUP = {"first": (1, int), "count": (2, int), "meeting": (3, str)}
RACK = {"first": (1, int), "count": (2, int)}
SITE = {"address": (1, str), "weight": (2, int), "at_rank": (3, int), "record": (5, SITE_RECORD)}
JOINED = {
    "job": (1, int),
    "epoch": (2, int),
    "datagram_bytes_max": (3, int),
    "elements_max": (4, int),
    "small_slots": (5, int),
    "bulk_slots": (6, int),
    "sites": (7, [SITE]),
    "groups": (8, [GROUP]),
    "racks": (9, [RACK]),
    "parent": (10, str),
    "formats": (11, int),
    "rank_sources": (12, [str]),
    "native_types": (13, int),
    "wants_transfers": (14, int),
    "brief_results": (15, int),
}
GO = {"groups": (1, [GROUP])}
ENDED = {"reason": (1, int), "rank": (2, int), "address": (3, str), "abort": (4, bytes)}
REPLY = {"joined": (1, JOINED), "go": (2, GO), "refused": (3, REFUSED), "ended": (4, ENDED)}


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def read_varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a varint without an end")
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return value, at
        shift += 7


def field(number, kind, value):
    """Returns one field's key and value."""
    if kind is int or kind == "optional":
        return varint(number << 3 | VARINT) + varint(value)
    if kind == "fixed64":
        return varint(number << 3 | FIXED64) + value.to_bytes(8, "little")
    content = value.encode() if kind is str else value if kind is bytes else encode(kind, value)
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def encode(layout, message):
    out = b""
    for name, value in message.items():
        number, kind = layout[name]
        for each in value if isinstance(kind, list) else [value]:
            if each or isinstance(each, dict) or isinstance(kind, list) or kind == "optional":
                out += field(number, kind[0] if isinstance(kind, list) else kind, each)
    return out


def read_value(data, at):
    """Returns the field's number, its encoded value, and the position of the next field."""
    key, at = read_varint(data, at)
    if key & 7 == VARINT:
        value, at = read_varint(data, at)
        return key >> 3, value, at
    if key & 7 == BYTES:
        length, at = read_varint(data, at)
    elif key & 7 in (FIXED64, FIXED32):
        length = 8 if key & 7 == FIXED64 else 4
    else:
        raise ValueError("a field of an unknown wire type")
    if at + length > len(data):
        raise ValueError("a truncated message")
    return key >> 3, data[at : at + length], at + length


def decode(layout, data):
    """Skips fields that the layout does not have."""
    names = {number: (name, kind) for name, (number, kind) in layout.items()}
    empty = {int: 0, "fixed64": 0, "optional": None, str: "", bytes: b""}
    message = {
        name: [] if isinstance(kind, list) else None if isinstance(kind, dict) else empty[kind]
        for name, (_, kind) in layout.items()
    }
    at = 0
    while at < len(data):
        number, value, at = read_value(data, at)
        name, kind = names.get(number, (None, None))
        if name is None:
            continue
        if isinstance(kind, list):
            each = value.decode() if kind[0] is str else decode(kind[0], value)
            message[name].append(each)
        elif isinstance(kind, dict):
            message[name] = decode(kind, value)
        elif kind == "fixed64":
            message[name] = int.from_bytes(value, "little")
        else:
            message[name] = value.decode() if kind is str else value
    return message


class JobEnded(Exception):
    """The job cannot begin, or is over. The message has the reason."""


INVALID = 1
REFUSALS = {  # J-042
    INVALID: ("INVALID", "do not repeat the request"),
    2: ("JOB_IN_USE", "choose another name, or try later"),
    3: ("MISMATCH", "do not repeat the request"),
    4: ("FULL", "try later"),
    5: ("TOO_LATE", "try again once all ranks can come"),
    6: ("STOPPING", "try another switch, or try later"),
}
ENDS = {1: "RANK_LOST", 2: "STOPPING", 3: "SWITCH_LOST", 4: "ABORTED"}  # J-041


def printable(text):
    """Returns another program's text without what could act on a terminal or split a line."""
    return "".join(each if each.isprintable() else "?" for each in text[:2048])


def told_refusal(refused):
    name, advice = REFUSALS.get(refused["reason"], (f"reason {refused['reason']}", "see why"))
    return f"the switch refuses this rank: {printable(refused['message'])} ({name}: {advice})"


def told_end(ended):
    name = ENDS.get(ended["reason"], f"reason {ended['reason']}")
    who = {1: f", rank {ended['rank']}", 3: f", {printable(ended['address'])}"}
    return f"the job is over: {name}{who.get(ended['reason'], '')}"


class Member:
    """This rank's connection to a switch, which stays open while the rank belongs to the job. Its
    owner calls keep() or hear() at least every few seconds (J-006)."""

    def __init__(self, address, timeout_s, source=None, fingerprint=""):
        self.connection = frames.Connection(address, timeout_s, source, fingerprint)

    def send(self, **step):
        self.connection.send(encode(REQUEST, step))

    def keep(self):
        self.connection.keep()

    def hear(self, timeout_s):
        """Returns (step, message) of the next reply, or None if none arrives in time. Raises
        JobEnded after a refusal, the job's end, or the switch's."""
        try:
            content = self.connection.receive(timeout_s)
            if content is None:
                return None
            heard = [each for each in decode(REPLY, content).items() if each[1] is not None]
        except frames.Closed as reason:
            raise JobEnded(f"the switch is lost: {reason}") from None
        except ValueError as reason:
            raise JobEnded(f"the switch sent bytes that are not a JoinReply: {reason}") from None
        for step, message in heard:
            if step == "refused":
                raise JobEnded(told_refusal(message))
            if step == "ended":
                raise JobEnded(told_end(message))
            return step, message
        raise JobEnded("the switch sent no message that this worker knows")

    def expect(self, wanted, timeout_s):
        heard = self.hear(timeout_s)
        if heard is None:
            raise JobEnded(f"the switch has not said {wanted} within {timeout_s:.1f} s")
        if heard[0] != wanted:
            raise JobEnded(f"the switch said {heard[0]} where {wanted} comes next")
        return heard[1]

    def leave(self, timeout_s=2.5, **fields):
        """Leaves in order (J-040), so that the other ranks do not consider this rank lost. The
        switch ends the connection once no rank needs this one's host any more."""
        self.send(leave=fields)
        self.connection.end()
        until = time.monotonic() + timeout_s
        try:
            while self.connection.receive(max(0, until - time.monotonic())) is not None:
                pass
        except frames.Closed:
            pass
        self.connection.close()
