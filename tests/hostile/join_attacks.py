# SPDX-License-Identifier: Apache-2.0
"""Attacks with valid messages of joining: Hellos that ask for too much; ranks that vanish, stay,
stop reading, or send messages in another order."""

import struct

import http2
import joining
from attacks import CONNECTIONS_MAX, Connection, attack, close_all, hello

HUGE = (1 << 32) - 1
# Values at the limits of every field of a Hello.
NUMBERS = (0, 1, 2, 64, 65, 255, 256, 257, 1024, 1025, 65535, 65536, (1 << 31) - 1, 1 << 31, HUGE)
TEXTS = (
    "",
    "x",
    "\n\r\0\x1b[2J",
    "..",
    "\u202e\U0001f600",
    "a" * 300,
    "b" * 70000,
    "127.0.0.1:7700",
    "[::1]:1",
    ":0",
    ":99999",
    "0.0.0.0:7",
    "239.1.1.1:7700",
    "nobody.invalid:1",
    "unix:/tmp/x",
    "@abstract",
)


def join_all(target, name, changes):
    """Returns a connection with all ranks of a job. They say Ready in time, whatever the switch has
    answered."""
    connection = Connection(target)
    streams = [connection.open() for _ in changes]
    for rank, (stream, change) in enumerate(zip(streams, changes, strict=True)):
        connection.say(stream, hello=hello(name, rank, len(changes), **change))
    target.pause(0.005)
    connection.discard()
    for stream in streams:
        connection.say(stream, ready={})
    target.pause(0.005)
    connection.discard()
    return connection


def record(draw):
    """Returns a site's record: everything, or numbers at their limits."""
    can = {
        "formats": 0x7F,
        "elements_max": 8192,
        "workers_max": 256,
        "takes_sparse": 1,
        "verifies_checksums": 1,
        "pending_forms": 1,
    }
    if draw.random() < 0.5:
        can[draw.choice([*can])] = draw.choice(NUMBERS)
    return can


@attack
def no_slots_in_common(target, draw):
    """One rank has no small slots, another no bulk slots. Together they have no slots."""
    for _ in target.until_over(0.05):
        slots = draw.choice((((0, 1), (1, 0)), ((1, 0), (0, 1)), ((0, 0), (1, 1))))
        with join_all(
            target,
            target.new_name(draw),
            [{"small_slots": small, "bulk_slots": bulk} for small, bulk in slots],
        ):
            pass


@attack
def fields_at_their_ends(target, draw):
    """Hellos with one to four fields as small, large or odd as the encoding allows."""
    held = []
    for _ in target.until_over(0.01):
        changes = []
        for _ in range(2):
            change = {}
            for _ in range(draw.randrange(1, 5)):
                field = draw.choice([*joining.HELLO])
                kind = joining.HELLO[field][1]
                change[field] = (
                    draw.choice(NUMBERS)
                    if kind is int
                    else draw.choice(TEXTS)
                    if kind is str
                    else record(draw)
                    if kind is joining.SITE_RECORD
                    else {
                        "identity": draw.choice(TEXTS),
                        "address": draw.choice(TEXTS),
                        "sites": draw.choice(NUMBERS),
                        "record": record(draw),
                    }
                )
            changes.append(change)
        held.append(
            join_all(
                target,
                target.new_name(draw),
                [
                    {**change, "job": target.new_name(draw)} if draw.random() < 0.2 else change
                    for change in changes
                ],
            )
        )
        if len(held) > 30:
            close_all(held)
    close_all(held)


@attack
def racks_that_are_none(target, draw):
    """Ranks that claim to come through racks' switches: racks of no size, of all sizes,
    interleaved."""
    held = []
    for _ in target.until_over(0.02):
        world = draw.randrange(2, 6)
        changes = [
            {
                "rack": {
                    "identity": draw.choice("ab"),
                    "address": "127.0.0.1:9",
                    "sites": draw.choice(NUMBERS),
                    "record": record(draw),
                    "source": draw.choice(TEXTS),
                },
                "source": draw.choice(TEXTS),
            }
            for _ in range(world)
        ]
        held.append(join_all(target, target.new_name(draw), changes))
        if len(held) > 30:
            close_all(held)
    close_all(held)


@attack
def hosts_that_are_none(target, draw):
    """Ranks that claim to share memory with any rank, and to lead whole worlds."""
    held = []
    for _ in target.until_over(0.02):
        world = draw.choice((2, 3, 5, 256))
        changes = [
            {
                "host_identity": draw.choice("ab"),
                "host_meeting": draw.choice(TEXTS[:6]),
                "always_shares": draw.randrange(2),
                "element_bytes": draw.choice(NUMBERS),
            }
            for _ in range(world)
        ]
        held.append(join_all(target, target.new_name(draw), changes))
        if len(held) > 4:
            close_all(held)
    close_all(held)


@attack
def hellos_of_four_megabytes(target, draw):
    """Hellos of the largest size that gRPC accepts, thirty at a time. They ignore the flow-control
    window."""
    for _ in target.until_over(0.1):
        held = []
        for _ in range(30):
            connection = Connection(target)
            held.append(connection)
            name = "n" * draw.choice((100_000, 1_000_000, (4 << 20) - 100))
            message = http2.grpc_message(joining.encode(joining.REQUEST, {"hello": hello(name)}))
            stream = connection.open()
            for at in range(0, len(message), 1 << 14):
                connection.frame(http2.DATA, 0, stream, message[at : at + (1 << 14)])
                if not connection.discard() or target.is_over():
                    break
        close_all(held)


@attack
def thousands_of_names(target, draw):
    """Jobs that miss a rank, each with a name of its own."""
    held = []
    for _ in target.until_over(0):
        if len(held) < CONNECTIONS_MAX:
            held.append(Connection(target))
            for _ in range(10):
                held[-1].say(held[-1].open(), hello=hello(target.new_name(draw), patience_ms=HUGE))
        else:
            target.pause(0.1)
        draw.choice(held).discard()
    close_all(held)


@attack
def one_rank_again_and_again(target, draw):
    """Many connections that claim the same rank of the same job."""
    name = target.new_name(draw)
    held = []
    for _ in target.until_over(0.003):
        held.append(Connection(target))
        held[-1].say(held[-1].open(), hello=hello(name, 0, 2, patience_ms=draw.choice(NUMBERS)))
        if len(held) > 200:
            close_all(held)
            name = target.new_name(draw)
    close_all(held)


@attack
def all_slots_for_one(target, draw):
    """Jobs of one rank, complete at once, that ask for all slots and stay."""
    held = []
    for _ in target.until_over(0.01):
        if len(held) >= 40:
            continue
        held.append(Connection(target))
        streams = [held[-1].open() for _ in range(40)]
        for stream in streams:
            held[-1].say(
                stream,
                hello=hello(
                    target.new_name(draw),
                    0,
                    1,
                    small_slots=draw.choice(NUMBERS[6:]),
                    bulk_slots=draw.choice(NUMBERS[6:]),
                ),
            )
        target.pause(0.005)
        for stream in streams:
            held[-1].say(stream, ready={})
        held[-1].discard()
    close_all(held)


@attack
def jobs_that_never_start(target, draw):
    """All ranks come, and none is ever ready."""
    held = []
    for _ in target.until_over(0.01):
        if len(held) < 100:
            connection = Connection(target)
            name = target.new_name(draw)
            for rank in range(2):
                connection.say(connection.open(), hello=hello(name, rank, patience_ms=HUGE))
            held.append(connection)
        held[-1].discard()
    close_all(held)


@attack
def jobs_that_come_and_go(target, draw):
    """Uses up job numbers, epochs and slots as fast as the switch gives them."""
    for _ in target.until_over(0.001):
        connection = join_all(target, target.new_name(draw), [{}])
        if draw.random() < 0.5:
            connection.say(1, leave={})
            connection.discard()
        connection.cut()


@attack
def steps_in_another_order(target, draw):
    """Ready before Hello, two Hellos, Lost, Leave, and endings in between."""
    for _ in target.until_over(0.005):
        with Connection(target) as connection:
            name = target.new_name(draw)
            streams = [connection.open() for _ in range(2)]
            for _ in range(draw.randrange(1, 8)):
                connection.say(
                    draw.choice(streams),
                    **draw.choice(
                        (
                            {"hello": hello(name, draw.randrange(2))},
                            {"ready": {"site_order": 7}},
                            {"ready": {"verifies": draw.choice(NUMBERS), "shares_memory": 1}},
                            {
                                "ready": {
                                    "obstacle": {
                                        "reason": draw.choice(NUMBERS),
                                        "message": "x" * 9999,
                                        "rank": draw.choice(NUMBERS),
                                    }
                                }
                            },
                            {
                                "leave": {
                                    "abort": draw.randbytes(draw.choice((0, 1, 23, 24, 25, 9999)))
                                }
                            },
                            {"lost": {}},
                            {},
                        )
                    ),
                )
            if draw.random() < 0.5:
                connection.frame(http2.DATA, http2.END_STREAM, streams[0])
            connection.discard()


@attack
def broken_messages(target, draw):
    """Protobuf that is cut, nested, or random."""
    honest = joining.encode(joining.REQUEST, {"hello": hello("x" * 20)})
    nested = honest
    for _ in range(200):
        nested = joining.varint(1 << 3 | 2) + joining.varint(len(nested)) + nested
    for _ in target.until_over(0.003):
        with Connection(target) as connection:
            content = bytearray(draw.choice((honest, nested, draw.randbytes(300), b"\xff" * 20)))
            for _ in range(draw.randrange(6)):
                content[draw.randrange(len(content))] = draw.randrange(256)
            connection.data(
                connection.open(),
                http2.grpc_message(bytes(content[: draw.randrange(len(content) + 1)])),
            )
            connection.discard()


@attack
def ranks_that_stop_reading(target, draw):
    """Complete jobs: some ranks stop reading, and other ranks leave."""
    held = []
    for _ in target.until_over(0.05):
        if len(held) < 100:
            name = target.new_name(draw)
            deaf = Connection(target, struct.pack("!HI", 4, draw.choice((0, 1, 30))))
            deaf.say(deaf.open(), hello=hello(name, 0))
            other = Connection(target)
            other.say(other.open(), hello=hello(name, 1))
            target.pause(0.01)
            if draw.random() < 0.5:
                other.cut()
            else:
                held.append(other)
            held.append(deaf)
    close_all(held)


@attack
def ranks_of_the_killed(target, draw):
    """Ranks that are killed while they wait, at every moment of joining."""
    for _ in target.until_over(0.002):
        name = target.new_name(draw)
        for rank in range(draw.randrange(1, 3)):
            connection = Connection(target)
            connection.say(connection.open(), hello=hello(name, rank, patience_ms=HUGE))
            target.pause(draw.choice((0, 0.001, 0.01)))
            connection.cut()
