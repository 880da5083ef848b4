# SPDX-License-Identifier: Apache-2.0
"""Joining and leaving a job: the messages of proto/infold/v1/control.proto, encoded by hand.

A message is a dictionary with field names as keys. As in proto3, fields that are 0 or empty are not
sent, and missing fields are decoded as 0 or empty.
"""

import http2

PATH = "/infold.v1.Control/Join"
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
LEAVE = {"abort": (1, bytes)}
REQUEST = {"hello": (1, HELLO), "ready": (2, READY), "leave": (3, LEAVE), "lost": (4, {})}

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


def site_order(job, epoch, weights):
    """J-022, for the sites of one switch."""
    order, mask = 0, (1 << 64) - 1
    for weight in weights:
        h = order + 0x9E3779B97F4A7C15 + (job << 48 | weight << 32 | epoch) & mask
        h = (h ^ h >> 30) * 0xBF58476D1CE4E5B9 & mask
        h = (h ^ h >> 27) * 0x94D049BB133111EB & mask
        order = h ^ h >> 31
    return order


def members(ranges, rank):
    """Returns the group or rack that has this rank as a range, or None."""
    return next(
        (
            range(each["first"], each["first"] + each["count"])
            for each in ranges
            if each["first"] <= rank < each["first"] + each["count"]
        ),
        None,
    )


def worker_number(rank, groups, racks, at_rank):
    """J-011: the number of the site's parties that come before this rank's party."""
    own_rack = None if at_rank else members(racks, rank)
    parties = set()
    for other in range(own_rack.start if own_rack else 0, rank):
        together = members(groups, other)
        if together is None and not own_rack and not at_rank:
            together = members(racks, other)
        parties.add(together.start if together else other)
    return len(parties)


class JobEnded(Exception):
    """The job cannot begin, or is over. The message has the reason."""


class Member:
    """This rank's stream to a switch, which stays open while the rank belongs to the job."""

    def __init__(self, address, timeout_s, source=None):
        self.call = http2.Call(address, PATH, timeout_s, source)

    def send(self, **step):
        self.call.send(encode(REQUEST, step))

    def hear(self, timeout_s):
        """Returns (step, message) of the next reply, or None if none arrives in time."""
        try:
            content = self.call.receive(timeout_s)
        except http2.Closed as reason:
            raise JobEnded(f"the switch is lost: {reason}") from None
        if content is None:
            return None
        for step, message in decode(REPLY, content).items():
            if step == "refused" and message:
                raise JobEnded(f"refused: {message['message']}")
            if step == "ended" and message:
                raise JobEnded(
                    f"the job is over: reason {message['reason']}, "
                    f"rank {message['rank']} {message['address']}".rstrip()
                )
            if message is not None:
                return step, message
        raise JobEnded("the switch sent no message that this worker knows")

    def expect(self, wanted, timeout_s):
        heard = self.hear(timeout_s)
        if heard is None or heard[0] != wanted:
            raise JobEnded(f"no {wanted} within {timeout_s} s, but {heard}")
        return heard[1]

    def leave(self, timeout_s=1.0):
        """Leaves in order, so that the other ranks do not consider this rank lost."""
        try:
            self.send(leave={})
            self.call.end()
            while self.call.receive(timeout_s) is not None:
                pass
        except (http2.Closed, OSError):
            pass
        self.call.close()
