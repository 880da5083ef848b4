# SPDX-License-Identifier: Apache-2.0
"""Attacks with valid messages of joining: Hellos that ask for too much; ranks that vanish, stay,
stop reading, or send messages in another order."""

import joining
from attacks import (
    CONNECTIONS_MAX,
    Connection,
    attack,
    close_all,
    flood_max,
    greeting,
    hello,
)
from frames import REQUEST_BYTES_MAX, frame

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
    "b" * 3900,
    "b" * 70000,
    "\u009b2J",
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
    """Returns the connections of all ranks of a job. They say Ready in time, whatever the switch
    has answered."""
    connections = [Connection(target) for _ in changes]
    for rank, (connection, change) in enumerate(zip(connections, changes, strict=True)):
        connection.say(hello=hello(name, rank, len(changes), **change))
    target.pause(0.005)
    for connection in connections:
        if connection.discard():
            connection.say(ready={})
    target.pause(0.005)
    for connection in connections:
        connection.discard()
    return connections


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
        changes = [{"small_slots": small, "bulk_slots": bulk} for small, bulk in slots]
        close_all(join_all(target, target.new_name(draw), changes))


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
        changes = [
            {**change, "job": target.new_name(draw)} if draw.random() < 0.2 else change
            for change in changes
        ]
        held += join_all(target, target.new_name(draw), changes)
        if len(held) > 60:
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
        held += join_all(target, target.new_name(draw), changes)
        if len(held) > 60:
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
        held += join_all(target, target.new_name(draw), changes)
        if len(held) > CONNECTIONS_MAX:
            close_all(held)
    close_all(held)


@attack
def hellos_of_all_lengths(target, draw):
    """Hellos as long as the switch accepts, one byte longer, and much longer."""
    for _ in target.until_over(0.002):
        with Connection(target) as connection:
            beside = len(greeting("n" * 1000)) - 1000 - len(frame())
            more = draw.choice((-1, 0, 1, 100, 1_000_000))
            name = "n" * (REQUEST_BYTES_MAX - beside + more)
            connection.send(greeting(name))
            connection.discard()


@attack
def hello_flood(target, draw):
    """Hellos as fast as one process can say them, each on a connection of its own. Some are of one
    name, and some connections stay."""
    held = []
    most = flood_max()
    for _ in target.until_over(0):
        connection = Connection(target)
        name = draw.choice(("hostile", target.new_name(draw)))
        connection.send(greeting(name, draw.randrange(1024), 1024))
        if draw.random() < 0.5 and len(held) < most:
            held.append(connection)
        else:
            draw.choice((connection.close, connection.cut))()
    close_all(held)


@attack
def thousands_of_names(target, draw):
    """Jobs that miss a rank, each with a name of its own."""
    held = []
    most = flood_max()
    for _ in target.until_over(0):
        if len(held) < most:
            held.append(Connection(target))
            held[-1].send(greeting(target.new_name(draw), patience_ms=HUGE))
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
        held[-1].send(greeting(name, 0, 2, patience_ms=draw.choice(NUMBERS)))
        if len(held) > 200:
            close_all(held)
            name = target.new_name(draw)
    close_all(held)


@attack
def hellos_of_other_jobs(target, draw):
    """One connection says several Hellos: of its own job, of other jobs, and of other ranks."""
    for _ in target.until_over(0.003):
        names = [target.new_name(draw) for _ in range(3)]
        with Connection(target) as connection:
            for _ in range(draw.randrange(2, 6)):
                connection.send(greeting(draw.choice(names), draw.randrange(2)))
            connection.discard()


@attack
def all_slots_for_one(target, draw):
    """Jobs of one rank, complete at once, that ask for all slots and stay."""
    held = []
    for _ in target.until_over(0.01):
        if len(held) >= CONNECTIONS_MAX:
            continue
        more = []
        for _ in range(40):
            more.append(Connection(target))
            slots = {
                "small_slots": draw.choice(NUMBERS[6:]),
                "bulk_slots": draw.choice(NUMBERS[6:]),
            }
            more[-1].send(greeting(target.new_name(draw), 0, 1, **slots))
        target.pause(0.005)
        for connection in more:
            if connection.discard():
                connection.say(ready={})
        held += more
    close_all(held)


@attack
def jobs_that_never_start(target, draw):
    """All ranks come, and none is ever ready."""
    held = []
    for _ in target.until_over(0.01):
        if len(held) < CONNECTIONS_MAX:
            name = target.new_name(draw)
            for rank in range(2):
                held.append(Connection(target))
                held[-1].send(greeting(name, rank, patience_ms=HUGE))
        held[-1].discard()
    close_all(held)


@attack
def jobs_that_come_and_go(target, draw):
    """Uses up job numbers, epochs and slots as fast as the switch gives them."""
    for _ in target.until_over(0.001):
        (connection,) = join_all(target, target.new_name(draw), [{}])
        if draw.random() < 0.5 and connection.discard():
            connection.say(leave={})
            connection.discard()
        connection.cut()


def drawn_step(name, draw):
    """Returns a message of any kind, which may come in any state."""
    numbers = {"reason": draw.choice(NUMBERS), "rank": draw.choice(NUMBERS)}
    refused = {**numbers, "message": draw.choice(("x" * 3900, "\x1b[2J\n\u009b2J"))}
    transfer = {field: draw.choice(NUMBERS) for field in joining.TRANSFER if draw.random() < 0.5}
    return draw.choice(
        (
            {"hello": hello(name, draw.randrange(2))},
            {"ready": {"site_order": 7}},
            {"ready": {"verifies": draw.choice(NUMBERS), "shares_memory": 1}},
            {"ready": {"calls_finished": draw.choice(NUMBERS), "calls_beyond": 1}},
            {"ready": {"obstacle": refused}},
            {"leave": {"abort": draw.randbytes(draw.choice((0, 1, 23, 24, 25, 3900)))}},
            {"leave": {"why": refused}},
            {"lost": {}},
            {"transfer": transfer},
            {"transfer_size": {"transfer": draw.choice(NUMBERS), "elements": draw.choice(NUMBERS)}},
            {},
        )
    )


@attack
def steps_in_another_order(target, draw):
    """Messages of all kinds out of turn, at one or both ranks of a job, and ends in between."""
    for _ in target.until_over(0.005):
        name = target.new_name(draw)
        held = [Connection(target) for _ in range(2)]
        if draw.random() < 0.7:
            for rank in range(draw.randrange(1, 3)):
                held[rank].send(greeting(name, rank))
        for _ in range(draw.randrange(1, 8)):
            connection = draw.choice(held)
            if connection.discard():
                connection.say(**drawn_step(name, draw))
        if draw.random() < 0.5 and held[0].discard():
            held[0].end()
        close_all(held)


@attack
def broken_messages(target, draw):
    """Protobuf that is cut, nested, or random."""
    honest = greeting("x" * 20)[len(frame()) :]
    nested = honest
    for _ in range(200):
        nested = joining.varint(1 << 3 | 2) + joining.varint(len(nested)) + nested
    for _ in target.until_over(0.003):
        with Connection(target) as connection:
            content = bytearray(draw.choice((honest, nested, draw.randbytes(300), b"\xff" * 20)))
            for _ in range(draw.randrange(6)):
                content[draw.randrange(len(content))] = draw.randrange(256)
            if draw.random() < 0.3:
                connection.send(greeting(target.new_name(draw)))
            connection.send(frame(bytes(content[: draw.randrange(len(content) + 1)])))
            connection.discard()


@attack
def ranks_that_stop_reading(target, draw):
    """Complete jobs: some ranks ask much and read no answer, and other ranks leave."""
    held = []
    for _ in target.until_over(0.05):
        if len(held) < 100:
            name = target.new_name(draw)
            deaf = Connection(target, deaf=True)
            deaf.send(greeting(name, 0))
            other = Connection(target)
            other.send(greeting(name, 1))
            deaf.ask(draw.choice((0, 1, 1000)))
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
            connection.send(greeting(name, rank, patience_ms=HUGE))
            target.pause(draw.choice((0, 0.001, 0.01)))
            connection.cut()
