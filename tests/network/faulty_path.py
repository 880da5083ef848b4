# SPDX-License-Identifier: Apache-2.0
"""A path to a switch that loses, repeats, delays and reorders packets, as a process of its own.

It listens at the switch's port, but at another address of this machine, which has the same length.
In the switch's messages over TCP it replaces the switch's address by its own, so that packets come
here as well. Each chunk (slot and round) has a network of its own, drawn from the seed.
"""

import heapq
import multiprocessing
import random
import select
import signal
import socket
import threading
import time

# The network of a chunk: loss, repeats, the share of late packets, and how late they are. The first
# network loses nothing.
LOSSES = (0, 0.05, 0.2, 0.4)
REPEATS = (0, 0.1, 0.3)
LATE = (0, 0.1, 0.5)
LATE_S = (0.0002, 0.002, 0.01)
# Packets that come again much later, after their slot has gone on.
RETURNS, RETURNS_S = 0.02, 0.1
DATAGRAM_BYTES_MAX = 1 << 16


class Faults:
    """The times at which copies of a packet arrive, in seconds from now."""

    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.networks = {}

    def arrivals(self, datagram):
        chunk = datagram[4:16]
        if chunk not in self.networks:
            drawn = random.Random(self.seed.to_bytes(8, "big") + chunk)
            self.networks[chunk] = [drawn.choice(of) for of in (LOSSES, REPEATS, LATE, LATE_S)]
        loss, repeats, late, late_s = self.networks[chunk]
        draw = self.random.random
        times = []
        for _ in range(1 + (draw() < repeats)):
            if draw() >= loss:
                times.append(draw() * late_s if draw() < late else 0)
        if draw() < RETURNS:
            times.append(draw() * RETURNS_S)
        return times


class FaultyPath:
    """Runs while its context lasts. Afterwards `networks_drawn` is the number of chunks."""

    def __init__(self, outer, inner, seed):
        self.outer, self.inner, self.seed = outer, inner, seed
        self.networks_drawn = 0

    def __enter__(self):
        context = multiprocessing.get_context("fork")
        self._said, child = context.Pipe()
        self._process = context.Process(
            target=serve, args=(self.outer, self.inner, self.seed, child)
        )
        self._process.start()
        self._said.recv()
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self.networks_drawn = self._said.recv() if self._said.poll(5) else 0
        self._process.join()


class Stopped(Exception):
    pass


def serve(outer, inner, seed, parent):
    def stop(*_):
        raise Stopped

    signal.signal(signal.SIGTERM, stop)
    faults = Faults(seed)
    with (
        socket.create_server(outer, backlog=64) as joins,
        socket.socket(type=socket.SOCK_DGRAM) as packets,
    ):
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        packets.bind(outer)
        threading.Thread(target=pass_joins, args=(joins, outer, inner), daemon=True).start()
        parent.send("ready")
        try:
            pass_packets(packets, inner, faults)
        except Stopped:
            parent.send(len(faults.networks))


def pass_packets(packets, inner, faults):
    """Gives each worker a socket towards the switch, as address translation does."""
    uphill = {}  # worker's address: socket
    workers = {}  # that socket's number: worker's address
    poll = select.poll()
    poll.register(packets, select.POLLIN)
    late = []  # (when, count, socket, address or none, datagram)
    count = 0
    while True:
        wait_s = max(0, late[0][0] - time.monotonic()) if late else 1
        ready = poll.poll(1000 * wait_s)
        while late and late[0][0] <= time.monotonic():
            send(*heapq.heappop(late)[2:])
        for number, _ in ready:
            if number == packets.fileno():
                datagram, worker = packets.recvfrom(DATAGRAM_BYTES_MAX)
                if worker not in uphill:
                    uphill[worker] = connect(inner)
                    poll.register(uphill[worker], select.POLLIN)
                    workers[uphill[worker].fileno()] = worker
                way = (uphill[worker], None)
            else:
                worker = workers[number]
                way = (packets, worker)
                try:
                    datagram = uphill[worker].recv(DATAGRAM_BYTES_MAX)
                except OSError:
                    continue
            for delay_s in faults.arrivals(datagram):
                count += 1
                heapq.heappush(late, (time.monotonic() + delay_s, count, *way, datagram))


def connect(address):
    uphill = socket.socket(type=socket.SOCK_DGRAM)
    uphill.connect(address)
    return uphill


def send(way, address, datagram):
    try:
        if address is None:
            way.send(datagram)
        else:
            way.sendto(datagram, address)
    except OSError:
        pass  # one more packet that is lost


def pass_joins(joins, outer, inner):
    own, shown = (f"{address[0]}:{address[1]}".encode() for address in (inner, outer))
    while True:
        rank, _ = joins.accept()
        switch = socket.create_connection(inner)
        for source, target, change in ((rank, switch, None), (switch, rank, (own, shown))):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=pass_bytes, args=(source, target, change), daemon=True).start()


def pass_bytes(source, target, change):
    try:
        while received := source.recv(1 << 16):
            target.sendall(received.replace(*change) if change else received)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()
