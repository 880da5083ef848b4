#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends a switch every order of three workers' contributions and one more packet: a repeat, a late
packet of an earlier round, an early packet, or a query. Compares every answer to each worker, byte
by byte, with section 5 of spec/protocol.md.

Usage: packet_orders_test.py INFOLD
"""

import itertools
import pathlib
import socket
import struct
import sys

from processes import PATIENCE, Job, expect, free_port, run_each

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "spec_worker"))
import joining
import packet
import rank

WORLD = 3
ELEMENTS = 2
SIGNATURE = packet.signature_of("i32", "i32", ELEMENTS, ELEMENTS)
ROUND = 3  # after two rounds of the same slot
# The packet beside the contributions: its kind, and its round.
EXTRAS = [(packet.ADD, number) for number in range(1, 6)] + [
    (packet.QUERY, number) for number in range(1, 6)
]
PROBE, ECHO = b"\xf0", b"\xf2"


def value(worker, number):
    """Returns a value that shows in any sum which worker contributed to which round."""
    return 1 << (8 * worker) | number << 24


class Switch:
    """A switch, with the connections of three workers to it."""

    def __init__(self, address):
        self.members = []
        self.sockets = []
        host = rank.host_and_port(address)
        for number in range(WORLD):
            self.members.append(joining.Member(host, PATIENCE))
            self.members[-1].send(
                hello={
                    "protocol_version": joining.PROTOCOL_VERSION,
                    "job": "orders",
                    "rank": number,
                    "world": WORLD,
                    "datagram_bytes_max": rank.DATAGRAM_BYTES_MAX,
                    "small_slots": 64,
                    "bulk_slots": 448,
                    "patience_ms": 1000 * PATIENCE,
                }
            )
        joined = [member.expect("joined", PATIENCE) for member in self.members]
        self.job, self.epoch = joined[0]["job"], joined[0]["epoch"]
        for member in self.members:
            member.send(ready=rank.readiness(joined[0]))
        for member in self.members:
            member.expect("go", PATIENCE)
            self.sockets.append(socket.socket(type=socket.SOCK_DGRAM))
            self.sockets[-1].connect(host)
            self.sockets[-1].settimeout(PATIENCE)

    def send(self, datagram, worker):
        """Sends a datagram, and returns the packets that each worker gets. The switch answers in
        order, and answers a probe last."""
        self.sockets[worker].send(datagram)
        heard = []
        for way in self.sockets:
            way.send(PROBE + bytes(packet.HEADER.size))
            heard.append([])
            while not (answer := way.recv(1 << 16)).startswith(ECHO):
                heard[-1].append(answer)
        return heard

    def packet(self, kind, worker, slot, number, **fields):
        shown = packet.Packet(
            kind, 0, worker, self.job, slot, self.epoch, number, SIGNATURE, 0, 0, 0, b""
        )
        return packet.pack(shown._replace(**fields))

    def contribution(self, worker, slot, number):
        return self.packet(
            packet.ADD,
            worker,
            slot,
            number,
            contributors=1,
            weight=1,
            digest=packet.digest(worker),
            body=struct.pack("<ii", value(worker, number), -worker),
        )


class Slot:
    """A model of one slot by R-060 to R-065."""

    def __init__(self, switch, number):
        self.switch, self.number = switch, number
        self.rounds = [0, -1]
        self.seen = [set(), set()]
        self.answers = [None, None]

    def result(self, number, completer):
        total = sum(value(worker, number) for worker in range(WORLD))
        return self.switch.packet(
            packet.RESULT,
            completer,
            self.number,
            number,
            contributors=WORLD,
            weight=WORLD,
            digest=sum(map(packet.digest, range(WORLD))) & packet.MASK,
            body=struct.pack("<ii", (total + 2**31) % 2**32 - 2**31, -sum(range(WORLD))),
        )

    def pending(self, worker, number, seen):
        missing = [one for one in range(WORLD) if one not in seen]
        ranges = []
        for one in missing:
            if ranges and sum(ranges[-1]) == one:
                ranges[-1] = (ranges[-1][0], ranges[-1][1] + 1)
            else:
                ranges.append((one, 1))
        return self.switch.packet(
            packet.PENDING,
            worker,
            self.number,
            number,
            body=b"".join(struct.pack("!HH", *pair) for pair in ranges),
        )

    def is_done(self, copy):
        return not self.seen[copy] or len(self.seen[copy]) == WORLD

    def answers_to(self, kind, worker, number):
        """Returns the packets that each worker gets, and changes the slot as the packet does."""
        none = [[] for _ in range(WORLD)]

        def alone(answer):
            return [[answer] if one == worker else [] for one in range(WORLD)]

        copy = number % 2
        ahead = number - self.rounds[copy]
        if (
            ahead == 2
            and self.is_done(copy)
            and self.is_done(1 - copy)
            and (self.rounds[1 - copy] == number - 1)
        ):
            if kind == packet.QUERY:
                return alone(self.pending(worker, number, set()))
            self.rounds[copy], self.seen[copy], self.answers[copy] = number, set(), None
        elif ahead:
            return none
        if self.answers[copy]:
            return alone(self.answers[copy])
        if kind == packet.QUERY or worker in self.seen[copy]:
            return alone(self.pending(worker, number, self.seen[copy]))
        self.seen[copy].add(worker)
        if len(self.seen[copy]) < WORLD:
            return none
        self.answers[copy] = self.result(number, worker)
        return [[self.answers[copy]] for _ in range(WORLD)]


def run_order(switch, number, order):
    """Uses one slot for two correct rounds, then these packets, and then the next round."""
    slot = Slot(switch, number)
    usual = [(packet.ADD, worker, turn) for turn in (1, 2) for worker in range(WORLD)]
    after = [(packet.ADD, worker, ROUND + 1) for worker in range(WORLD)]
    packets = 0
    for kind, worker, turn in (*usual, *order, *after):
        datagram = (
            switch.contribution(worker, number, turn)
            if kind == packet.ADD
            else switch.packet(kind, worker, number, turn)
        )
        heard = switch.send(datagram, worker)
        expected = slot.answers_to(kind, worker, turn)
        expect(
            heard == expected,
            f"slot {number}, {order}: after {kind, worker, turn} they hear "
            f"{[[each.hex() for each in one] for one in heard]}, not "
            f"{[[each.hex() for each in one] for one in expected]}",
        )
        packets += 1
    return packets


def every_order_of_three_and_one_more(binary):
    with Job(binary) as job:
        port = free_port()
        job.start_switch(port)
        orders = packets = 0
        three = [(packet.ADD, worker, ROUND) for worker in range(WORLD)]
        every = [
            order
            for kind, number in EXTRAS
            for worker in range(WORLD)
            for order in itertools.permutations([*three, (kind, worker, number)])
        ]
        switch = Switch(f"127.0.0.1:{port}")
        slots = 512
        for orders, order in enumerate(every):
            for member in switch.members:
                member.keep()
            if orders % slots == 0 and orders:
                for member in switch.members:
                    member.leave()
                switch = Switch(f"127.0.0.1:{port}")
            packets += run_order(switch, orders % slots, order)
        print(f"{len(every)} orders, {packets} packets, all answers as the specification says")


if __name__ == "__main__":
    sys.exit(run_each(every_order_of_three_and_one_more))
