#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that was written from spec/protocol.md alone. With the same options, it makes the calls of
`infold bench allreduce --check`, so it can be any rank of such a job.
"""

import argparse
import select
import socket
import sys
import time

import blocks
import joining
import packet
import terms
from worker import JobAborted, Terms, Worker

DATAGRAM_BYTES_MAX = 1472  # UDP over IPv4 at MTU 1500
SMALL_SLOTS, BULK_SLOTS = 64, 448
PROBE, ECHO, PROBES, PROBE_WAIT_S = b"\xf0", b"\xf2", 40, 0.025  # R-017; lost probes are sent again
# The switch says why a job does not start, when the patience of a rank is over.
SWITCH_SLACK_S = 1.0
FAREWELLS = 20  # how often a rank says that it leaves if no site confirms it


def host_and_port(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def place_and_keys(text):
    """Returns the parts of `host:port#fingerprint.token` (J-007). The last two may be empty."""
    place, _, words = text.partition("#")
    fingerprint, _, token = words.partition(".")
    return host_and_port(place), fingerprint, token


def weights_of(joined):
    return [site["weight"] or 1 for site in joined["sites"]]


def readiness(joined):
    """This rank does not share memory, verifies nothing, and orders the sites as others do
    (J-021)."""
    order = terms.site_order(joined["job"], joined["epoch"], weights_of(joined))
    return {"site_order": order, "verifies": 0}


class Rank:
    """One rank of a job: joins it, sums, and leaves. A program that does neither for some seconds
    calls `member.keep()` meanwhile, else the switch counts the rank as lost (J-006)."""

    def __init__(self, switch, job, rank, world, timeout_s=10.0):
        self.timeout_s = timeout_s
        self.has_left = False
        address, fingerprint, token = place_and_keys(switch)
        self.host = address[0]
        self.member = joining.Member(address, timeout_s, fingerprint=fingerprint)
        self.member.send(
            hello={
                "protocol_version": joining.PROTOCOL_VERSION,
                "job": job,
                "rank": rank,
                "world": world,
                "datagram_bytes_max": DATAGRAM_BYTES_MAX,
                "small_slots": SMALL_SLOTS,
                "bulk_slots": BULK_SLOTS,
                "patience_ms": int(1000 * timeout_s),
                "token": token,
            }
        )
        until = time.monotonic() + timeout_s + SWITCH_SLACK_S
        joined = self.member.expect("joined", until - time.monotonic())
        if problem := terms.misfit(joined, rank, world):
            self._give_up(problem)
        self.sockets = [self._connect(site["address"]) for site in joined["sites"]]
        for site in self.sockets:
            self._probe(site, joined["datagram_bytes_max"])
        self.member.send(ready=readiness(joined))
        groups = self.member.expect("go", until - time.monotonic())["groups"]
        if not terms.rise(groups, world) or terms.members(groups, rank):
            self._give_up("the groups of Go make no sense: this rank shares no memory")
        self.worker = Worker(self._terms(joined, groups, rank, world))

    def _terms(self, joined, groups, rank, world):
        return Terms(
            job=joined["job"],
            epoch=joined["epoch"],
            world=world,
            rank=rank,
            workers=[
                terms.worker_number(rank, groups, joined["racks"], site["at_rank"])
                for site in joined["sites"]
            ],
            small_slots=joined["small_slots"],
            bulk_slots=joined["bulk_slots"],
            weights=weights_of(joined),
            elements_max=joined["elements_max"],
            datagram_bytes_max=joined["datagram_bytes_max"],
            has_trees=bool(groups or joined["racks"]),
            formats=joined["formats"],
        )

    def _give_up(self, problem):
        """Leaves, and says why, so that the other ranks hear it (J-002)."""
        self.member.leave(why={"reason": joining.INVALID, "message": problem})
        raise joining.JobEnded(problem)

    def _probe(self, site, longest):
        """Gives up unless packets of both sizes come back (J-020)."""
        for size in (packet.HEADER.size, longest):
            if not any(self._comes_back(site, size) for _ in range(PROBES)):
                self._give_up(f"packets of {size} bytes do not come back from a site")

    def _comes_back(self, site, size):
        """Sends a probe, and returns whether an echo of this length arrives in time."""
        until = time.monotonic() + PROBE_WAIT_S
        try:
            site.send(PROBE + bytes(size - 1))
            while select.select([site], [], [], max(0, until - time.monotonic()))[0]:
                echo = site.recv(1 << 16)
                if echo.startswith(ECHO) and len(echo) == size:
                    return True
        except ConnectionRefusedError:
            time.sleep(PROBE_WAIT_S)  # nobody listens there yet
        return False

    def _connect(self, address):
        host, port = host_and_port(address)
        family, _, _, _, where = socket.getaddrinfo(
            host or self.host, port, type=socket.SOCK_DGRAM
        )[0]
        site = socket.socket(family, socket.SOCK_DGRAM)
        if family == self.member.connection.socket.family:
            site.bind((self.member.connection.socket.getsockname()[0], 0))  # J-005
        site.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        site.connect(where)
        site.setblocking(False)
        return site

    def all_reduce(self, values, data_type, wire_format):
        """Returns the sum of the values that all ranks pass to the same call."""
        return self.finish(self.worker.submit(values, data_type, wire_format))

    def finish(self, tensor):
        until = time.monotonic() + self.timeout_s
        while not tensor.is_done():
            self.step(until)
            if self.worker.ended:
                raise JobAborted(*self.worker.ended)
            if time.monotonic() >= until:
                self.leave(packet.DEADLINE_PASSED)
                raise TimeoutError("the sum is not complete")
        return tensor.result

    def step(self, until):
        """Sends what is due, waits for packets, the switch or the next repeat, and keeps the
        connection to the switch alive. Raises JobEnded if the switch ends the job."""
        self._send(self.worker.advance(time.monotonic()))
        until = min(self.worker.next_due(), self.member.connection.next_at(), until)
        wait_s = max(0, until - time.monotonic())
        ready, _, _ = select.select([*self.sockets, self.member.connection], [], [], wait_s)
        for site, site_socket in enumerate(self.sockets):
            if site_socket in ready:
                self._receive(site, site_socket)
        self.member.hear(0)

    def _send(self, packets):
        for site, datagram in packets:
            try:
                self.sockets[site].send(datagram)
            except OSError:
                pass  # The worker sends the packet again, as it does after a loss.

    def _receive(self, site, site_socket):
        while True:
            try:
                datagram = site_socket.recv(1 << 16)
            except ConnectionRefusedError:
                continue  # belongs to an earlier packet; the join server reports a lost site
            except BlockingIOError:
                return
            self.worker.receive(site, datagram, time.monotonic())

    def _say_goodbye(self, reason):
        """Repeats ABORT until one site confirms it, because other sites may be gone (R-083)."""
        for _ in range(FAREWELLS):
            self._send(self.worker.abort(reason, self.worker.terms.rank))
            select.select(self.sockets, [], [], 0.02)
            for site, site_socket in enumerate(self.sockets):
                self._receive(site, site_socket)
            if self.worker.ended:
                return

    def leave(self, reason=packet.LEFT):
        """Leaves once (J-040). With another reason, this rank's calls have failed."""
        if self.has_left:
            return
        self.has_left = True
        self._say_goodbye(reason)
        own = self.worker.terms.rank
        failed = {} if reason == packet.LEFT else {"abort": packet.abort_body(reason, own, own)}
        self.member.leave(**failed)
        for site in self.sockets:
            site.close()


def bench_values(elements, rank, data_type):
    """Returns the values of `infold bench allreduce`."""
    number = float if data_type == "f32" else int
    return [number((i * 7 + rank * 13) % 1021 - 510) for i in range(elements)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--switch", required=True, metavar="HOST:PORT[#FINGERPRINT.TOKEN]")
    parser.add_argument("--job", default="default")
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--elements", default="1,1024,16384", help="with commas; of 4 bytes each")
    parser.add_argument("--dtype", choices=("f32", "i32"), default="f32")
    parser.add_argument("--format", choices=(*blocks.WIDTHS, "native"), default="native")
    parser.add_argument("--iterations", type=int, default=10)
    options = parser.parse_args()
    try:
        make_calls(options)
    except (joining.JobEnded, JobAborted, TimeoutError, OSError, ValueError) as error:
        sys.exit(f"rank.py: {error}")


def make_calls(options):
    rank = Rank(options.switch, options.job, options.rank, options.ranks)
    try:
        for elements in map(int, options.elements.split(",")):
            print(sums_of(rank, elements, options))
    finally:
        rank.leave()


def sums_of(rank, elements, options):
    """Makes the calls of one size, and returns what to print of them."""
    wire_format = options.format if options.dtype == "f32" else options.dtype
    values = bench_values(elements, options.rank, options.dtype)
    calls = options.iterations + min(max(options.iterations // 10, 1), 10)
    for _ in range(calls):
        total = rank.all_reduce(values, options.dtype, wire_format)
    rank.member.keep()
    ranks = [bench_values(elements, other, options.dtype) for other in range(options.ranks)]
    is_right = total == [sum(each) for each in zip(*ranks, strict=True)]
    return f"{4 * elements} bytes: {calls} sums, {'ok' if is_right else 'rounded'}"


if __name__ == "__main__":
    main()
