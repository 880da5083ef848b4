# SPDX-License-Identifier: Apache-2.0
"""Attacks on the packets' port: datagrams that are malformed, foreign, forged or too many, and
datagrams of a job that the attacker has joined."""

import socket
import struct

import joining
import packet
from attacks import attack, hello

# With a pause of a millisecond, this makes some 30,000 packets a second, which is as many as a
# Python process can send.
BURST = 40
KINDS = tuple(range(16))
SIGNATURE = packet.signature_of("i32", "i32", 64, 64)


def port_of(target):
    way = socket.socket(type=socket.SOCK_DGRAM)
    way.bind(target.source)
    way.connect(target.address)
    way.setblocking(False)
    return way


def send(way, datagram):
    try:
        way.send(datagram)
    except OSError:
        pass  # full for a moment, or an answer from ICMP


def drain(way):
    """Reads the answers that have come, and returns them."""
    heard = []
    try:
        while True:
            heard.append(way.recv(1 << 16))
    except OSError:
        return heard


def drawn_packet(draw, job, epoch):
    """Returns a packet of this job. Every field has any value that is allowed, or nearly so."""
    elements = draw.choice((0, 1, 31, 32, 64, 352, 2048, 65535))
    signature = packet.Signature(
        elements, draw.randrange(256), draw.randrange(256), draw.getrandbits(32)
    )
    if draw.random() < 0.7:
        signature = SIGNATURE
    return packet.pack(
        packet.Packet(
            draw.choice(KINDS),
            draw.choice((0, 0, 1, 2, 4, 8, 255)),
            draw.choice((0, 1, 2, 255)),
            job,
            draw.choice((0, 1, 63, 64, 511, 512, 65535)),
            epoch,
            draw.choice((0, 1, 2, 3, 1 << 31, packet.MASK)),
            signature,
            draw.choice((0, 1, 2, 65535)),
            draw.randrange(1 << 16),
            draw.getrandbits(32),
            draw.randbytes(draw.choice((0, 4, 8, 24, 256, 260, 1400))),
        )
    )


@attack
def malformed_packets(target, draw):
    """Random bytes, cut packets, empty datagrams, and datagrams of the largest size."""
    way = port_of(target)
    sizes = (0, 1, 31, 32, 33, 100, 1472, 9000, 65000)
    for _ in target.until_over(0.001):
        for _ in range(BURST // 4):
            content = draw.randbytes(draw.choice(sizes))
            send(way, draw.choice((content, b"\xf1\x11" + content, b"\xf1" + content)))
        drain(way)
    way.close()


@attack
def foreign_packets(target, draw):
    """Packets of jobs that may live, with epochs that the attacker does not know: every kind, every
    field."""
    way = port_of(target)
    for _ in target.until_over(0.001):
        for _ in range(BURST):
            send(
                way,
                drawn_packet(draw, draw.choice((0, 65535, *range(1, 60))), draw.getrandbits(32)),
            )
        drain(way)
    way.close()


@attack
def forged_ends(target, draw):
    """ABORTs and ABORTEDs to every low number of a job, in bursts."""
    way = port_of(target)
    for turn in target.until_over(0.001):
        for number in range(BURST):
            body = packet.abort_body(draw.randrange(10), draw.choice((0, 1, 77)), 0)
            send(
                way,
                packet.pack(
                    packet.Packet(
                        draw.choice((packet.ABORT, packet.ABORTED)),
                        draw.choice((0, 1)),
                        draw.randrange(3),
                        (turn + number) % 200,
                        0,
                        draw.getrandbits(32),
                        0,
                        packet.Signature(0, 0, 0, 0),
                        0,
                        0,
                        0,
                        body,
                    )
                ),
            )
        drain(way)
    way.close()


@attack
def probe_flood(target, draw):
    """Probes. Each answer has the length of its probe, so an attacker gains nothing."""
    way = port_of(target)
    for _ in target.until_over(0.001):
        for _ in range(BURST):
            send(way, b"\xf0" + bytes(draw.choice((31, 32, 1400))))
        drain(way)
    way.close()


class OwnJob:
    """A job whose ranks are the attacker's."""

    def __init__(self, target, draw, world=2):
        name = target.new_name(draw)
        self.members = [joining.Member(target.address, 1, target.source) for _ in range(world)]
        for rank, member in enumerate(self.members):
            member.send(hello=hello(name, rank, world))
        joined = [member.expect("joined", 1) for member in self.members]
        self.number, self.epoch = joined[0]["job"], joined[0]["epoch"]
        for member in self.members:
            member.send(ready={"site_order": 1})
        for member in self.members:
            member.expect("go", 1)

    def close(self):
        for member in self.members:
            member.connection.close()


def joined_or_none(target, draw):
    """Returns a job of the attacker's own, or None if the switch refuses it, as it may."""
    try:
        return OwnJob(target, draw)
    except (joining.JobEnded, OSError):
        return None


def flood_own_job(target, draw, make):
    """Sends packets that pass the checks of job and epoch. The attacker joins new jobs now and
    then."""
    way = port_of(target)
    while not target.is_over():
        job = joined_or_none(target, draw)
        for turn in target.until_over(0.001) if job else (target.pause(0.05),):
            for _ in range(BURST if job else 0):
                send(way, make(job))
            drain(way)
            if turn == 300:
                break
        if job:
            job.close()
    way.close()


@attack
def abort_flood(target, draw):
    """Packets of a job that the first of them ends."""
    flood_own_job(
        target,
        draw,
        lambda job: packet.pack(
            packet.Packet(
                packet.ABORT,
                0,
                0,
                job.number,
                0,
                job.epoch,
                0,
                packet.Signature(0, 0, 0, 0),
                0,
                0,
                0,
                packet.abort_body(draw.choice((1, 2, 4, 4, 5, 6, 9)), draw.choice((0, 1, 77)), 1),
            )
        ),
    )


@attack
def query_flood(target, draw):
    flood_own_job(
        target,
        draw,
        lambda job: packet.pack(
            packet.Packet(
                packet.QUERY,
                0,
                draw.randrange(2),
                job.number,
                draw.randrange(512),
                job.epoch,
                draw.randrange(1, 4),
                SIGNATURE,
                0,
                0,
                0,
                b"",
            )
        ),
    )


@attack
def own_job_of_nonsense(target, draw):
    """Every kind and field, with a valid job and epoch."""
    flood_own_job(target, draw, lambda job: drawn_packet(draw, job.number, job.epoch))


@attack
def own_job_at_speed(target, draw):
    """Contributions and repeats of two workers at full speed, each answered to both."""
    rounds = {}

    def contribution(job):
        slot, worker = draw.randrange(64), draw.randrange(2)
        turn = rounds.get((job.epoch, slot), 0) + draw.choice((0, 0, 1))
        rounds[job.epoch, slot] = turn
        return packet.pack(
            packet.Packet(
                packet.ADD,
                0,
                worker,
                job.number,
                slot,
                job.epoch,
                turn,
                SIGNATURE,
                1,
                1,
                packet.digest(worker),
                bytes(4 * SIGNATURE.elements),
            )
        )

    flood_own_job(target, draw, contribution)


@attack
def replays_of_old_jobs(target, draw):
    """Packets that were valid in a job that is over. Another job may have its number by now."""
    way = port_of(target)
    old = []
    for turn in target.until_over(0.005):
        if turn % 20 == 0 and (job := joined_or_none(target, draw)):
            job.close()
            old.append((job.number, job.epoch))
        for number, epoch in old[-BURST:]:
            send(way, drawn_packet(draw, number, epoch))
        drain(way)
    way.close()


@attack
def sparse_bombs(target, draw):
    """Contributions that claim blocks and chunks which are not there (R-018, R-019)."""

    def bomb(job):
        chunks = draw.choice((0, 1, 2, 64, 65, 65535))
        body = struct.pack("!HBB", chunks, draw.randrange(3), draw.randrange(2))
        body += draw.choice((b"", b"\xff" * 4, b"\xff" * 256, draw.randbytes(600)))
        return packet.pack(
            packet.Packet(
                packet.ADD,
                packet.SPARSE | draw.choice((0, 2)),
                draw.randrange(2),
                job.number,
                draw.choice((0, 500, 511)),
                job.epoch,
                1,
                packet.signature_of("i32", "i32", draw.choice((0, 1, 64, 352, 65535)), 352),
                1,
                1,
                packet.digest(0),
                body,
            )
        )

    flood_own_job(target, draw, bomb)
