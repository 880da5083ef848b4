# SPDX-License-Identifier: Apache-2.0
"""A job in the program's tables, and the packets for which the program knows results. The
interpreter and BMv2 look alike as devices: `tables` by name with add() and clear(), and
set_group().
"""

import frames
from frames import ADD, QUERY, SKIP, number

JOBS = 16
ALL_BITS = 0xFFFFFFFF
FIRST_GROUP = 10


class Job:
    """The controller's part for one job. `side_of` has the port of each worker."""

    def __init__(self, device, place, numbers, side_of):
        self.device, self.place, self.side_of = device, place, side_of
        self.number, self.epoch, _, _, *self.ranks = numbers
        self.slots = {}  # the open round, who has contributed, its call, the call before
        workers, places = device.tables["Address.workers"], device.tables["Sum.places.places"]
        workers.clear()
        places.clear()
        self.group = FIRST_GROUP + place
        device.set_group(
            self.group, [(worker, side_of(worker)) for worker in range(len(self.ranks))]
        )
        for worker in range(len(self.ranks)):
            workers.add(
                [self.number, worker],
                "address",
                [
                    number(frames.mac_of(worker)),
                    number(frames.ip_of(worker)),
                    frames.port_of(worker),
                ],
            )
            if worker % 2 == 0:
                places.add([*self.place_of(worker)], "is_known")
        self.write_senders(has_ended=0)

    def place_of(self, worker):
        return (
            self.number,
            worker,
            number(frames.mac_of(worker)),
            frames.port_of(worker),
            self.side_of(worker),
        )

    def write_senders(self, has_ended):
        """Writes the table of senders. Bits of no rank count as bits of the last rank."""
        senders = self.device.tables["Sum.admission.senders"]
        senders.clear()
        members = sum(1 << rank for rank in self.ranks)
        for worker, rank in enumerate(self.ranks):
            own = 1 << rank | (ALL_BITS ^ members if rank == max(self.ranks) else 0)
            for kind in (ADD, SKIP, QUERY):
                is_add = kind == ADD
                contributes = kind != QUERY and not has_ended
                senders.add(
                    [
                        self.number,
                        self.epoch,
                        worker,
                        kind,
                        int(is_add),
                        int(is_add),
                        frames.digest_of(rank) if is_add else 0,
                        number(frames.ip_of(worker)),
                    ],
                    "set_sender",
                    [
                        self.place,
                        ALL_BITS ^ own if contributes else ALL_BITS,
                        members,
                        self.group,
                        has_ended,
                    ],
                )

    def follow(self, datagram, verdict):
        """Returns whether the program knows the packet's chunk: it is of the open round, or of the
        round before and of the same call. Also notes how the open round changes.
        """
        if len(datagram) < frames.HEADER_BYTES:
            return True
        worker, slot, round_ = datagram[3], datagram[6:8], number(datagram[12:16])
        open_, seen, call, call_before = self.slots.get(slot, (1, frozenset(), b"", b""))
        is_known = round_ == open_ or (round_ == open_ - 1 and datagram[16:24] == call_before)
        kind = frames.kind_of(datagram)
        if (
            round_ == open_
            and kind in (ADD, SKIP)
            and verdict in (frames.CONTRIBUTED, frames.COMPLETED, frames.JOB_ENDED)
        ):
            call = call if seen else datagram[16:24]
            seen |= {worker}
            self.slots[slot] = (open_, seen, call, call_before)
            if len(seen) == len(self.ranks):
                self.slots[slot] = (open_ + 1, frozenset(), b"", call)
        return is_known

    def expected(self, datagram, verdict, sent):
        """Returns the answers with receivers, the verdict, and whether the packet goes to the host.
        The program has no results of older rounds and for other calls (docs/switches/p4.md).
        """
        is_known = self.follow(datagram, verdict)
        if not is_known and verdict in (frames.REPLAYED, frames.JOB_ENDED):
            return [], frames.STALE_ROUND, False
        for_host = frames.is_for_host(datagram, verdict)
        answers = (
            []
            if for_host
            else [
                (self.side_of(each), frames.ip_of(each), frames.port_of(each), answer)
                for to, answer in sent
                for each in frames.receivers(to, len(self.ranks))
            ]
        )
        return sorted(answers), verdict, for_host
