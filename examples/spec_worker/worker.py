# SPDX-License-Identifier: Apache-2.0
"""The worker of spec/protocol.md as a state machine without sockets and clocks. Datagrams and the
time go in, and datagrams come out. It sums integers and f32 over all ranks.
"""

import collections

import blocks
import packet
from packet import ABORT, ABORTED, ADD, PENDING, QUERY, REALIGN, RESULT, SKIP

GRANULES = {"bfp8": 32, "bfp16": 32, "bfp32": 32}  # 16 for all others
CHUNK_BYTES_MAX = 8192
PAIRS_MAX = 12
IN_FLIGHT_MAX = 64  # chunks in each stream
WAIT_FIRST_S, WAIT_MOST_S, WAIT_FOR_RANKS_S = 0.004, 0.02, 0.2

# The terms of a job, from joining: job, epoch, world, rank, this rank's worker number at each site,
# the slots of both streams there, the sites' weights, the limits of a chunk, whether partial sums
# come from trees, and the formats that all sites sum.
Terms = collections.namedtuple(
    "Terms",
    "job epoch world rank workers small_slots bulk_slots weights elements_max "
    "datagram_bytes_max has_trees formats",
)


def partial_bytes(wire_format, elements):
    """Returns the largest body of R-042, or of R-051 with special values."""
    if wire_format == "native":
        pairs = min(PAIRS_MAX, elements)
        return 8 + 8 * elements + -(-2 * pairs // 8) * 8 + 8 * pairs
    if wire_format not in blocks.WIDTHS:
        return 0
    codes = 2 * -(-elements // blocks.BLOCK)
    return -(-codes // 8) * 8 + 8 * elements + 2 * -(-elements // 64) * 8


def chunk_elements(terms, wire_format):
    """R-021."""
    granule = GRANULES.get(wire_format, 16)
    count = 0
    while True:
        more = count + granule
        codes = blocks.code_bytes(more) if wire_format in blocks.WIDTHS else 0
        body = blocks.body_bytes(wire_format, more)
        largest = max(body, partial_bytes(wire_format, more) if terms.has_trees else 0)
        if (
            more > terms.elements_max
            or body - codes > CHUNK_BYTES_MAX
            or packet.HEADER.size + largest > terms.datagram_bytes_max
        ):
            return count
        count = more


class JobAborted(Exception):
    """The job is over for all ranks. The error has the reason, rank and other of R-080."""


class Tensor:
    """One call: its values until they are sent, and the parts of its result that have arrived."""

    def __init__(self, values, data_type, wire_format):
        self.values, self.data_type, self.wire_format = values, data_type, wire_format
        self.result = [None] * len(values)
        self.chunks_left = 0

    def is_done(self):
        return self.chunks_left == 0


class Chunk:
    """A part of a tensor on its slot, from its first packet to its answer."""

    def __init__(self, tensor, first, signature):
        self.tensor, self.first, self.signature = tensor, first, signature
        self.site = self.slot = self.round = None
        self.floors = self.contribution = None
        self.due = self.wait_s = 0
        self.asks_next = True


class Stream:
    """Chunks in the order of calls, which gives each chunk its site and slot (R-071)."""

    def __init__(self, first_slot, slots, weights):
        self.first_slot, self.slots, self.weights = first_slot, slots, weights
        self.credit = [0] * len(weights)
        self.numbered = [0] * len(weights)
        self.waiting = collections.deque()
        self.in_flight = 0

    def add(self, chunk):
        self.credit = [have + earns for have, earns in zip(self.credit, self.weights, strict=True)]
        chunk.site = self.credit.index(max(self.credit))
        self.credit[chunk.site] -= sum(self.weights)
        chunk.slot = self.first_slot + self.numbered[chunk.site] % self.slots
        self.numbered[chunk.site] += 1
        self.waiting.append(chunk)


class Worker:
    """One rank's part in a job."""

    def __init__(self, terms):
        self.terms = terms
        weights = terms.weights
        self.streams = (
            Stream(0, terms.small_slots, weights),
            Stream(terms.small_slots, terms.bulk_slots, weights),
        )
        self.rounds = {}  # for each slot of a site: the last round
        self.active = {}  # for each slot of a site: its chunk
        self.ended = None
        self.outgoing = []
        self.digest_of_all = sum(map(packet.digest, range(terms.world))) & packet.MASK

    def submit(self, values, data_type, wire_format):
        """Begins to sum a tensor. All ranks make the same calls in the same order (R-072)."""
        if not self.terms.formats >> packet.FORMATS[wire_format] & 1:
            raise ValueError(f"a site of the job does not sum {wire_format}")
        tensor = Tensor(values, data_type, wire_format)
        size = chunk_elements(self.terms, wire_format)
        firsts = range(0, max(1, len(values)), size)
        small, bulk = self.streams
        is_small = len(firsts) <= self.terms.small_slots * len(self.terms.weights)

        def signature(elements):
            return packet.signature_of(data_type, wire_format, elements, len(values))

        for first in firsts:
            chunk = Chunk(tensor, first, signature(min(size, len(values) - first)))
            (small if is_small else bulk).add(chunk)
        tensor.chunks_left = len(firsts)
        if not is_small:
            small.add(Chunk(tensor, 0, signature(0)))
            tensor.chunks_left += 1
        return tensor

    def advance(self, now):
        """Begins chunks whose turn it is, and repeats lost ones. Returns packets as (site,
        bytes)."""
        if not self.ended:
            for stream in self.streams:
                self._begin_chunks(stream, now)
            for chunk in list(self.active.values()):
                if chunk.due <= now:
                    self._repeat(chunk, now)
        outgoing, self.outgoing = self.outgoing, []
        return outgoing

    def next_due(self):
        return min((chunk.due for chunk in self.active.values()), default=float("inf"))

    def missed(self):
        """Returns whether some chunk has no answer yet."""
        return bool(self.active)

    def receive(self, site, datagram, now):
        heard = packet.parse(datagram)
        if heard is None or (heard.job, heard.epoch) != (self.terms.job, self.terms.epoch):
            return
        if heard.kind == ABORTED:
            self._hear_end(heard)
            return
        chunk = self.active.get((site, heard.slot))
        if (
            chunk is None
            or self.ended
            or heard.round != chunk.round
            or heard.signature != chunk.signature
        ):
            return
        if heard.kind == RESULT:
            self._take_result(chunk, heard)
        elif heard.kind == REALIGN:
            self._realign(chunk, heard, now)
        elif heard.kind == PENDING:
            self._hear_pending(chunk, heard, now)

    def abort(self, reason, other=0):
        """Returns packets that tell each site that the job is over for this rank (R-080, R-083)."""
        terms = self.terms
        body = packet.abort_body(reason, terms.rank, other)
        return [
            (
                site,
                packet.pack(
                    packet.Packet(
                        ABORT,
                        0,
                        worker,
                        terms.job,
                        0,
                        terms.epoch,
                        0,
                        packet.Signature(0, 0, 0, 0),
                        0,
                        0,
                        0,
                        body,
                    )
                ),
            )
            for site, worker in enumerate(terms.workers)
        ]

    def _begin_chunks(self, stream, now):
        while stream.waiting and stream.in_flight < IN_FLIGHT_MAX:
            place = (stream.waiting[0].site, stream.waiting[0].slot)
            if place in self.active:
                return  # R-070; the chunks behind it also wait
            chunk = stream.waiting.popleft()
            stream.in_flight += 1
            self.active[place] = chunk
            self._contribute(chunk, now)

    def _contribute(self, chunk, now):
        """Sends the chunk as the next round of its slot."""
        place = (chunk.site, chunk.slot)
        self.rounds[place] = chunk.round = self.rounds.get(place, 0) + 1 & packet.MASK
        if chunk.signature.elements == 0:
            chunk.contribution = self._packet(SKIP, chunk)
        else:
            tensor, last = chunk.tensor, chunk.first + chunk.signature.elements
            body, specials = blocks.encode(
                tensor.wire_format, tensor.values[chunk.first : last], chunk.floors
            )
            chunk.contribution = self._packet(ADD, chunk, packet.SPECIALS if specials else 0, body)
        chunk.wait_s = WAIT_FIRST_S
        chunk.asks_next = True
        chunk.due = now + chunk.wait_s
        self.outgoing.append((chunk.site, chunk.contribution))

    def _packet(self, kind, chunk, flags=0, body=b""):
        terms = self.terms
        adds = kind == ADD
        return packet.pack(
            packet.Packet(
                kind,
                flags,
                terms.workers[chunk.site],
                terms.job,
                chunk.slot,
                terms.epoch,
                chunk.round,
                chunk.signature,
                int(adds),
                int(adds),
                packet.digest(terms.rank) if adds else 0,
                body,
            )
        )

    def _repeat(self, chunk, now):
        """Sends a QUERY and the contribution alternately (R-074)."""
        asked = self._packet(QUERY, chunk) if chunk.asks_next else chunk.contribution
        chunk.asks_next = not chunk.asks_next
        chunk.wait_s = max(chunk.wait_s, min(2 * chunk.wait_s, WAIT_MOST_S))
        chunk.due = now + chunk.wait_s
        self.outgoing.append((chunk.site, asked))

    def _hear_pending(self, chunk, heard, now):
        missing = packet.missing_ranks(heard, self.terms.world)
        if missing is None:
            return
        if self.terms.rank in missing:
            self.outgoing.append((chunk.site, chunk.contribution))
        else:  # another rank is late, and more queries do not help
            chunk.wait_s = min(2 * chunk.wait_s, WAIT_FOR_RANKS_S)
        chunk.due = now + chunk.wait_s

    def _realign(self, chunk, heard, now):
        """Encodes again, no finer than the largest numbers of all ranks allow (R-034)."""
        elements, wire_format = chunk.signature.elements, chunk.tensor.wire_format
        if wire_format not in blocks.WIDTHS or len(heard.body) != blocks.code_bytes(elements):
            return
        spread = blocks.spread(wire_format, self.terms.world)
        chunk.floors = [max(0, code - spread) for code in heard.body]
        self._contribute(chunk, now)

    def _take_result(self, chunk, heard):
        elements, tensor = chunk.signature.elements, chunk.tensor
        expected = (self.terms.world, self.digest_of_all) if elements else (0, 0)
        size = blocks.body_bytes(tensor.wire_format, elements)
        if (
            (heard.contributors, heard.digest) != expected
            or len(heard.body) != size
            or heard.flags & (packet.PARTIAL_FLAG | packet.SPARSE)
        ):
            return  # R-073; a SPARSE result answers only ranks that sent SPARSE
        tensor.result[chunk.first : chunk.first + elements] = blocks.decode(
            tensor.wire_format, heard.body, elements, heard.flags & packet.SPECIALS
        )
        tensor.chunks_left -= 1
        del self.active[chunk.site, chunk.slot]
        self.streams[chunk.slot >= self.terms.small_slots].in_flight -= 1

    def _hear_end(self, heard):
        ending = packet.ending(heard.body)
        if ending is not None:
            self.ended = self.ended or ending
