# SPDX-License-Identifier: Apache-2.0
"""Attacks by a member of a job on the job's other ranks and on the end of a switch. The ranks must
end in good order and in time, with an error that gives the reason. All this is on loopback, in user
space."""

import concurrent.futures
import contextlib
import os
import random
import signal
import time

import joining
import packet
import rank
import terms
from attacks import Connection, Target, greeting, hello, kept_alive
from battle import ATTACKER_ADDRESS, Loopback
from expected_ends import DAY_MS, DEADLINE_S, LONG_S, SLACK_S, all_of, expect_ends
from http2_attacks import END_HEADERS, HEADERS, OPENING, call_headers, frame
from packet_attacks import drain, drawn_packet, port_of, send
from processes import Job, expect, wait_until

FORGED_CALLS = 50
JOBS = iter(range(1, 1 << 20))


class Member:
    """Rank 1 of a job, whose rank 0 is honest."""

    def __init__(self, ground, name, world=2, **changes):
        self.target = Target(*ground.address, ATTACKER_ADDRESS, 60)
        self.joining = joining.Member(ground.address, 5, (ATTACKER_ADDRESS, 0))
        self.joining.send(hello=hello(name, 1, world, **changes))

    def join(self):
        """Returns Joined, or None after a refusal."""
        try:
            joined = self.joining.expect("joined", 5)
            weights = [site["weight"] or 1 for site in joined["sites"]]
            self.joining.send(
                ready={
                    "verifies": 0,
                    "site_order": terms.site_order(joined["job"], joined["epoch"], weights),
                }
            )
            self.joining.expect("go", 5)
            return joined
        except joining.JobEnded:
            return None


def start_honest(ground, name, rank=0, world=2, deadline_s=DEADLINE_S):
    return ground.start_rank(
        rank,
        "bench",
        "allreduce",
        "--ranks",
        str(world),
        "--job",
        name,
        "--deadline",
        str(deadline_s),
        "--bytes",
        "100000",
        "--mtu",
        "1500",
        "--shared-memory",
        "off",
    )


# The record of a site that can do everything.
RECORD = {
    "formats": 0x7F,
    "elements_max": 8192,
    "workers_max": 256,
    "takes_sparse": 1,
    "verifies_checksums": 1,
    "pending_forms": 1,
}
HOSTILE_HELLOS = (
    {"rack": {"record": {"elements_max": 1}}},
    {"rack": {"identity": "a", "sites": 1, "record": {"elements_max": 1}}},
    {"rack": {"identity": "a", "address": "x", "sites": (1 << 32) - 1, "record": {}}},
    {"site_address": "127.0.0.1:9", "site_weight": 65, "site_record": RECORD},
    {"site_address": "127.0.0.1:9", "site_weight": (1 << 32) - 1},
    {"site_address": "127.0.0.1:9", "site_weight": 0},
    {"site_address": "127.0.0.1:9", "site_record": RECORD},
    {"site_address": "127.0.0.1:9", "site_record": {**RECORD, "formats": 1 << 7}},
    {"site_address": "127.0.0.1:9", "site_record": {**RECORD, "workers_max": 1}},
    {"site_address": "127.0.0.1:9", "site_record": {**RECORD, "verifies_checksums": 0}},
    {"site_address": "x" * 200, "site_weight": 1},
    {"site_address": ":9", "site_weight": 1},
    {"small_slots": 0},
    {"bulk_slots": 0},
    {"small_slots": 0, "bulk_slots": 1},
    {"small_slots": 1, "bulk_slots": 0},
    {"datagram_bytes_max": 0},
    {"datagram_bytes_max": 33},
    {"datagram_bytes_max": (1 << 32) - 1},
    {"host_identity": "a", "host_meeting": "b", "always_shares": 1},
    {"element_bytes": 1 << 31},
    {"source": "127.0.0.1"},
    {"source": "0.0.0.0"},
    {"source": "x" * 10_000},
    {"source": "::1"},
    {"patience_ms": 1},
    {"world": 3},
    {"world": 0},
    {"world": 1025},
    {"rank": 2},
    {"rank": 0},
)


def member_case(ground, changes):
    """Joins as a rank with this Hello. Then sends packets of all kinds as that worker."""
    name = f"victim-{next(JOBS)}"
    since = time.monotonic()
    honest = start_honest(ground, name)
    member = Member(ground, name, **changes)
    joined = member.join()
    if joined:
        way, draw = port_of(member.target), random.Random(str(changes))
        for _ in range(300):
            send(way, drawn_packet(draw, joined["job"], joined["epoch"]))
    expect_ends(honest, since, f"a member says {changes}")
    member.joining.connection.close()


def hostile_members(ground):
    """Runs all cases of the list, some at a time."""
    all_of([(member_case, ground, changes) for changes in HOSTILE_HELLOS])
    return len(HOSTILE_HELLOS)


def a_deaf_member_holds_up_nobody(ground):
    """One of three ranks asks much and reads nothing, and one is killed. The third must hear of it
    at once."""
    name = f"victim-{next(JOBS)}"
    since = time.monotonic()
    ranks = [start_honest(ground, name, rank, 3, LONG_S) for rank in (0, 2)]
    target = Target(*ground.address, ATTACKER_ADDRESS, 60)
    with Connection(target, deaf=True) as deaf, kept_alive([deaf]):
        deaf.send(greeting(name, 1, 3, patience_ms=DAY_MS))
        deaf.ask(1000)
        wait_until(lambda: ground.ranks_of(name) == 3, "not all ranks come")
        ranks[1].send_signal(signal.SIGKILL)
        said = expect_ends(ranks[0], since, "a deaf member")
    expect("rank" in said, said)


def a_waiting_rank_goes_with_its_process(ground):
    """A rank that is killed while it waits can start again at once."""
    for first in (0, 1):
        name = f"victim-{next(JOBS)}"
        with Connection(Target(*ground.address, ATTACKER_ADDRESS, 60)) as early:
            early.send(greeting(name, first, patience_ms=DAY_MS))
            with kept_alive([early]):
                wait_until(lambda job=name: ground.ranks_of(job) == 1, "no rank comes")
            early.cut()
        ranks = [start_honest(ground, name, each, 2, SLACK_S) for each in range(2)]
        for each in ranks:
            _, said = each.communicate(timeout=2 * SLACK_S)
            expect(each.returncode == 0, f"after rank {first} was killed: {said}")


def patience_is_each_rank_s_own(ground):
    """A member that would wait for a day, and lives, does not make another wait beyond its
    deadline."""
    name = f"victim-{next(JOBS)}"
    since = time.monotonic()
    honest = start_honest(ground, name, 0, 3)
    with Connection(Target(*ground.address, ATTACKER_ADDRESS, 60)) as member, kept_alive([member]):
        member.send(greeting(name, 1, 3, patience_ms=DAY_MS))
        said = expect_ends(honest, since, "a patient member")
    expect("came" in said or "time" in said or "rank" in said, said)


def an_earlier_version_is_told(ground):
    """A rank that joins over gRPC gets a sentence as the end of its call (J-001)."""
    with Connection(Target(*ground.address, ATTACKER_ADDRESS, 60)) as old:
        old.send(OPENING + frame(HEADERS, END_HEADERS, 1, call_headers()))
        old.socket.settimeout(SLACK_S)
        heard = b""
        while more := old.socket.recv(1 << 16):
            heard += more
    expect(b"grpc-message" in heard and b"install the version" in heard, heard)


def deaf_members_do_not_hold_up_the_end(binary):
    """SIGTERM ends a switch in time although ranks have stopped reading, in all states."""
    ground = Loopback(binary)
    with ground.up() as up, contextlib.ExitStack() as stack:
        target = Target(*up.address, ATTACKER_ADDRESS, 60)
        all_deaf = []
        stack.enter_context(kept_alive(all_deaf))
        for number in range(20):
            for rank in range(1 + number % 2):
                deaf = stack.enter_context(Connection(target, deaf=True))
                deaf.send(greeting(f"deaf-{number}", rank, patience_ms=DAY_MS))
                deaf.ask(1000)
                all_deaf.append(deaf)
        wait_until(
            lambda: all(up.ranks_of(f"deaf-{number}") == 1 + number % 2 for number in range(20)),
            "not all ranks come",
        )
        since = time.monotonic()
        up.switch.terminate()
        up.switch.communicate(timeout=SLACK_S)
        expect(up.switch.returncode == 0, f"ended with {up.switch.returncode}")
    return time.monotonic() - since


def is_cut(connection):
    """Returns whether the other end has closed the connection. Reads what it has said before."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def descriptors_come_back(binary):
    """A switch with a low limit of descriptors runs out of them. It serves again once some are
    free."""
    ground = Loopback("prlimit")
    ground.job.binary = "prlimit"
    with Job(binary) as ranks:
        words = ("--nofile=200:200", binary, "switch", "--listen", ground.where())
        switch = ground.job.start(*words)
        with ground.job:
            expect("packets at" in switch.stdout.readline(), "no switch")
            target = Target(*ground.address, ATTACKER_ADDRESS, 60)
            with contextlib.ExitStack() as stack:
                strangers = [stack.enter_context(target.connect()) for _ in range(400)]
                wait_until(lambda: sum(map(is_cut, strangers)) >= 200, "all connections are kept")
            honest = [
                ranks.start(
                    "bench",
                    "allreduce",
                    "--switch",
                    ground.where(),
                    "--rank",
                    str(rank),
                    "--ranks",
                    "2",
                    "--bytes",
                    "4096",
                    "--check",
                    "--deadline",
                    str(SLACK_S),
                    "--shared-memory",
                    "off",
                )
                for rank in range(2)
            ]
            for each in honest:
                _, said = each.communicate(timeout=2 * SLACK_S)
                expect(each.returncode == 0, f"after a shortage of descriptors: {said}")


def who_knows_the_epoch(ground):
    """Sends contributions, queries and ends in the name of a worker, from another address, just
    before the worker's own packets. None of them counts, and that address gets no answer
    (R-007)."""
    name = f"victim-{next(JOBS)}"

    def join(number):
        with ground.inside(number):
            return rank.Rank("{}:{}".format(*ground.address), name, number, 2)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        ranks = list(pool.map(join, range(2)))
    terms = ranks[0].worker.terms
    with ground.inside(2):
        way = port_of(Target(*ground.address, ground.source, 60))
    with contextlib.closing(way):
        for call in range(FORGED_CALLS):
            tensors = [
                each.worker.submit([call, number], "i32", "i32")
                for number, each in enumerate(ranks)
            ]
            forged = packet.Packet(
                packet.ADD,
                0,
                1,
                terms.job,
                call % terms.small_slots,
                terms.epoch,
                call // terms.small_slots + 1,
                packet.signature_of("i32", "i32", 2, 2),
                1,
                1,
                packet.digest(1),
                b"forgery!",
            )
            send(way, packet.pack(forged))
            send(
                way,
                packet.pack(
                    forged._replace(kind=packet.QUERY, contributors=0, weight=0, digest=0, body=b"")
                ),
            )
            send(
                way,
                packet.pack(
                    forged._replace(
                        kind=packet.ABORT,
                        slot=0,
                        round=0,
                        signature=packet.Signature(0, 0, 0, 0),
                        contributors=0,
                        weight=0,
                        digest=0,
                        body=packet.abort_body(packet.LEFT, 1, 1),
                    )
                ),
            )
            until = time.monotonic() + SLACK_S
            while not all(tensor.is_done() for tensor in tensors):
                expect(time.monotonic() < until and not ranks[0].worker.ended, "the job is over")
                for each in ranks:
                    each.step(time.monotonic() + 0.002)
            expect(
                all(tensor.result == [2 * call, 1] for tensor in tensors),
                f"a wrong sum: {[tensor.result for tensor in tensors]}, not {[2 * call, 1]}",
            )
        expect(not drain(way), "answers went to the attacker")
    for each in ranks:
        each.leave()
    return FORGED_CALLS


def packets_at_a_rank(pid):
    """Returns the UDP ports of a process of this machine."""
    inodes = set()
    for entry in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            inodes.add(os.readlink(f"/proc/{pid}/fd/{entry}").removeprefix("socket:[").rstrip("]"))
    with open("/proc/net/udp", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    return [int(row[1].split(":")[1], 16) for row in rows if row[9] in inodes]


def packets_to_ranks_change_nothing(ground, seconds):
    """Strangers' datagrams arrive at the ranks' own ports while the ranks sum."""
    name = f"victim-{next(JOBS)}"
    ranks = [
        ground.start_rank(
            rank,
            "bench",
            "allreduce",
            "--ranks",
            "2",
            "--job",
            name,
            "--bytes",
            "4096,1048576",
            "--iterations",
            "100",
            "--check",
            "--mtu",
            "1500",
            "--shared-memory",
            "off",
        )
        for rank in range(2)
    ]
    draw = random.Random(1)
    until = time.monotonic() + seconds
    sent = 0
    while time.monotonic() < until and ranks[0].poll() is None:
        for each in ranks:
            for port in packets_at_a_rank(each.pid) if each.poll() is None else ():
                with contextlib.closing(
                    port_of(Target("127.0.0.1", port, ATTACKER_ADDRESS, 1))
                ) as way:
                    for _ in range(50):
                        send(way, drawn_packet(draw, draw.randrange(60), draw.getrandbits(32)))
                    send(way, draw.randbytes(draw.randrange(2000)))
                    sent += 51
    for each in ranks:
        _, said = each.communicate(timeout=2 * SLACK_S)
        expect(each.returncode == 0, f"{sent} packets to ranks: {said}")
    expect(sent > 0, "no rank's port was found")
    return sent
