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
from worker import JobAborted, Terms, Worker

DATAGRAM_BYTES_MAX = 1472  # UDP over IPv4 at MTU 1500
SMALL_SLOTS, BULK_SLOTS = 64, 448
PROBE, PROBES, PROBE_WAIT_S = b"\xf0", 40, 0.025  # R-017; lost probes are sent again
FAREWELLS = 20  # how often a rank says that it leaves if no site confirms it


def host_and_port(text):
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def weights_of(joined):
    return [site["weight"] or 1 for site in joined["sites"]]


def readiness(joined):
    """This rank does not share memory, verifies nothing, and orders the sites as others do
    (J-021)."""
    order = joining.site_order(joined["job"], joined["epoch"], weights_of(joined))
    return {"site_order": order, "verifies": 0}


class Rank:
    """One rank of a job: joins it, sums, and leaves."""

    def __init__(self, switch, job, rank, world, timeout_s=10.0):
        self.timeout_s = timeout_s
        self.host, port = host_and_port(switch)
        self.member = joining.Member((self.host, port), timeout_s)
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
            }
        )
        joined = self.member.expect("joined", timeout_s)
        self.sockets = [self._connect(site["address"]) for site in joined["sites"]]
        for site in self.sockets:
            self._probe(site, joined["datagram_bytes_max"])
        self.member.send(ready=readiness(joined))
        go = self.member.expect("go", timeout_s)
        self.worker = Worker(self._terms(joined, go["groups"], rank, world))

    def _terms(self, joined, groups, rank, world):
        return Terms(
            job=joined["job"],
            epoch=joined["epoch"],
            world=world,
            rank=rank,
            workers=[
                joining.worker_number(rank, groups, joined["racks"], site["at_rank"])
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

    def _probe(self, site, longest):
        """Ends joining unless packets of both sizes come back (J-020)."""
        for size in (packet.HEADER.size, longest):
            for _ in range(PROBES):
                site.send(PROBE + bytes(size - 1))
                if select.select([site], [], [], PROBE_WAIT_S)[0]:
                    break
            else:
                raise joining.JobEnded(f"packets of {size} bytes do not come back")

    def _connect(self, address):
        host, port = host_and_port(address)
        family, _, _, _, where = socket.getaddrinfo(
            host or self.host, port, type=socket.SOCK_DGRAM
        )[0]
        site = socket.socket(family, socket.SOCK_DGRAM)
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
                self._say_goodbye(packet.DEADLINE_PASSED)
                raise TimeoutError("the sum is not complete")
        return tensor.result

    def step(self, until):
        """Sends what is due, then waits for packets, the join server or the next repeat."""
        self._send(self.worker.advance(time.monotonic()))
        wait_s = max(0, min(self.worker.next_due(), until) - time.monotonic())
        ready, _, _ = select.select([*self.sockets, self.member.call], [], [], wait_s)
        for site, site_socket in enumerate(self.sockets):
            if site_socket in ready:
                self._receive(site, site_socket)
        if self.member.call in ready:
            self.member.hear(0)

    def _send(self, packets):
        for site, datagram in packets:
            try:
                self.sockets[site].send(datagram)
            except OSError:
                pass  # as if the packet were lost: it is sent again

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

    def leave(self):
        self._say_goodbye(packet.LEFT)
        self.member.leave()
        for site in self.sockets:
            site.close()


def bench_values(elements, rank, data_type):
    """Returns the values of `infold bench allreduce`."""
    number = float if data_type == "f32" else int
    return [number((i * 7 + rank * 13) % 1021 - 510) for i in range(elements)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--switch", required=True, metavar="HOST:PORT")
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
    wire_format = options.format if options.dtype == "f32" else options.dtype
    for elements in map(int, options.elements.split(",")):
        values = bench_values(elements, options.rank, options.dtype)
        calls = options.iterations + min(max(options.iterations // 10, 1), 10)
        for _ in range(calls):
            total = rank.all_reduce(values, options.dtype, wire_format)
        ranks = [bench_values(elements, other, options.dtype) for other in range(options.ranks)]
        is_right = total == [sum(each) for each in zip(*ranks, strict=True)]
        print(f"{4 * elements} bytes: {calls} sums, {'ok' if is_right else 'rounded'}")
    rank.leave()


if __name__ == "__main__":
    main()
