#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the P4 program for Tofino the packets of infold_p4_packets, in an interpreter of its text.
It must send what core::Adder sends, and count the same verdicts; a drop may count for another
reason, or at the host. Then it gets the same packets while some wait at the recirculation port and
others pass. Last, the program without the round check must not send the same.

Usage: tna_test.py PROGRAM [SCENARIOS]    (infold_p4_packets; default 8)

Without p4c-barefoot in PATH the test is skipped. docs/switches/p4.md says where it comes from.
"""

import dataclasses
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import typing

import cases
import frames
from cases import complete, start_with_a_skip
from frames import ADD, DATAGRAM_AT, ELEMENTS_AT, NONE, STALE_ROUND, UDP_CHECKSUM, number, swapped
from interpreter.device import Device, Outcome
from job import ALL_BITS, JOBS, Job

COMPILER = "p4c-barefoot"
SCENARIOS = 8
SEED = 1
HASTES = 0.02, 0.1, 0.3, 0.7  # chances that a packet which waits goes on before the next comes
FLOOD_GROUP = 1
HOST_SIDE, ELSEWHERE_SIDE, FIRST_WORKER_SIDE = 2, 3, 8  # ports of the first pipe
OTHER_PIPES = 0x080, 0x0C3, 0x100, 0x1C0  # ports of the other three
SIDES = (HOST_SIDE, ELSEWHERE_SIDE, *range(FIRST_WORKER_SIDE, FIRST_WORKER_SIDE + 32))
ONE_MORE_PASS = {frames.PASSES_AGAIN, frames.ADMITTED}


@dataclasses.dataclass(eq=False)
class Waiting:
    """A packet at the recirculation port. `is_for_one`: it is for a rank that asks once more."""

    outcome: Outcome
    slot: bytes
    round_: int
    is_for_one: bool
    check: typing.Callable

    def is_overtaken_by(self, slot, round_):
        """Says whether a chunk of two rounds later takes the place of this one's sums."""
        return slot == self.slot and round_ - self.round_ & ALL_BITS in range(2, 1 << 31)


class Replay:
    """With `order`, packets at the recirculation port wait for a drawn time."""

    def __init__(self, device, order=None):
        self.device, self.order, self.haste = device, order, 1
        self.job, self.jobs, self.packets, self.overtaken, self.waiting = None, 0, 0, 0, []
        add = device.tables["Sum.admission.addresses"].add
        add([number(frames.HOST_IP), frames.HOST_PORT], "take")
        device.tables["Sum.forward.stations"].add([number(frames.HOST_MAC)], "to_port", [HOST_SIDE])
        device.set_group(FLOOD_GROUP, [(0, side) for side in SIDES])

    def run(self, lines):
        for step in frames.steps(lines):
            if isinstance(step, tuple):
                self.deliver(*step)
            else:
                self.drain()
                self.start_job(step)
        self.drain()

    def start_job(self, numbers):
        place = self.jobs % JOBS
        if place == 0:
            self.clear_registers()
        self.job = Job(self.device, place, numbers, lambda worker: FIRST_WORKER_SIDE + worker)
        self.jobs += 1
        if self.order is not None:
            self.haste = self.order.choice(HASTES)

    def clear_registers(self):
        """Leaves the registers as the controller does. What it does not write may be anything."""
        for register in self.device.registers.values():
            register.reset()
        for name in ("slots_before", "slots_after", "slots_open"):
            self.device.registers[name].reset(1, 0)
        self.device.registers["spoiled"].reset(0)

    def register(self, name, index):
        return self.device.registers[name].read(index)

    def drain(self):
        while self.device.queue:
            self.continue_first()
        assert not self.waiting

    def continue_first(self):
        outcome = self.device.continue_first()
        if all(other is not outcome for _, other in self.device.queue):
            done = [each for each in self.waiting if each.outcome is outcome]
            self.waiting = [each for each in self.waiting if each.outcome is not outcome]
            for each in done:
                each.check()

    def let_others_pass(self, slot, round_):
        """Nobody begins a chunk two rounds later before the result to all is there, but the answer
        to a rank that asks once more may still wait. That answer then has other sums, and the rank
        has had the right ones before. The sums of the later chunk must be right all the same.
        """
        while self.device.queue and (self.order is None or self.order.random() < self.haste):
            self.continue_first()
        while any(
            each.is_overtaken_by(slot, round_) and not each.is_for_one for each in self.waiting
        ):
            self.continue_first()
        overtaken = [each for each in self.waiting if each.is_overtaken_by(slot, round_)]
        self.waiting = [each for each in self.waiting if each not in overtaken]
        self.overtaken += len(overtaken)

    def deliver(self, side, datagram, verdict, sent):
        """Delivers a packet. Raises AssertionError at the first difference."""
        job, self.packets = self.job, self.packets + 1
        worker = frames.worker_of(datagram, len(job.ranks))
        port = FIRST_WORKER_SIDE + worker if side == "worker" else ELSEWHERE_SIDE
        source = frames.ip_of(worker) if side == "worker" else frames.ELSEWHERE
        frame = frames.make_frame(swapped(datagram), worker, source)
        expected, wanted, for_host = job.expected(datagram, verdict, sent)
        told, count = job.place_of(worker), self.packets
        slot, round_ = datagram[6:8], number(datagram[12:16])
        self.let_others_pass(slot, round_)
        outcome = self.device.start(frame, port)

        def check():
            why = difference(outcome, frame, wanted, for_host, expected, told)
            if why:
                raise AssertionError(
                    f"after {count} packets: {why}: {datagram.hex()}\n  verdict "
                    f"{verdict}\n  wanted {expected}\n  {outcome}"
                )

        if self.device.queue and self.device.queue[-1][1] is outcome:
            self.waiting.append(Waiting(outcome, slot, round_, verdict == frames.REPLAYED, check))
        else:
            check()
        if verdict == frames.JOB_ENDED and frames.kind_of(datagram) == frames.ABORT:
            job.write_senders(has_ended=1)


def difference(outcome, frame, verdict, for_host, expected, told):
    """Returns what is wrong with a packet's outcome, or an empty text if nothing is."""
    at_host = [out for port, out in outcome.sent if port == HOST_SIDE]
    found = sorted(
        (port, *(frames.read_answer(out))) for port, out in outcome.sent if port != HOST_SIDE
    )
    found = [(port, ip, udp_port, swapped(answer)) for port, ip, udp_port, answer in found]
    *passes, counted = outcome.counted or [None]
    is_dropped = verdict in frames.DROPPED
    known = (
        {frames.TO_HOST}
        if for_host
        else {frames.TO_HOST, STALE_ROUND, NONE, None}
        if is_dropped
        else {verdict}
    )
    if counted not in known or set(passes) - ONE_MORE_PASS:
        return f"counted {outcome.counted}"
    if found != expected:
        return f"sent {found}"
    if len(at_host) != (counted in (frames.TO_HOST, NONE)):
        return f"{len(at_host)} frames at the host"
    if at_host and not frames.is_alike(at_host[0], frame):
        return "another frame at the host"
    is_add = frames.kind_of(frame[DATAGRAM_AT:]) == ADD
    wanted = {frames.COMPLETED: 2 if is_add else 3, frames.REPLAYED: 3}
    if outcome.passes != (1 if is_dropped else wanted.get(verdict, 1)):
        return f"{outcome.passes} passes"
    if any(
        out[6:12] != frames.HOST_MAC
        or out[26:30] != frames.HOST_IP
        or number(out[34:36]) != frames.HOST_PORT
        for port, out in outcome.sent
        if port != HOST_SIDE
    ):
        return "the answer is not from the switch"
    workers = [tuple(note) for name, note in outcome.notes if name == "Deparse.workers"]
    if workers and (workers != [told] or told[1] % 2 == 0):
        return f"the controller hears {workers}"
    return ""


def check_other_traffic(replay):
    """Other traffic passes as through a switch: to all ports but the sender's, or to a station's
    port."""
    device = replay.device
    arp = bytes.fromhex("ffffffffffff") + frames.mac_of(0) + b"\x08\x06" + bytes(46)
    outcome = device.start(arp, FIRST_WORKER_SIDE)
    assert sorted(outcome.sent) == [(side, arp) for side in SIDES if side != FIRST_WORKER_SIDE]
    assert outcome.notes == [("Deparse.stations", [number(frames.mac_of(0)), FIRST_WORKER_SIDE])]
    ip = frames.HOST_MAC + arp[6:12] + b"\x08\x00" + b"\x46" + bytes(59)
    assert device.start(ip, FIRST_WORKER_SIDE).sent == [(HOST_SIDE, ip)]


def check_frames_that_are_too_short(replay):
    """Nothing of them may be summed, because the parser drops them."""
    start_with_a_skip(replay, 24)
    whole = frames.make_frame(frames.packet(ADD, *range(24)), 0, frames.ip_of(0))
    for missing in (2, 3, 40, 96, 97):
        outcome = replay.device.start(whole[:-missing], FIRST_WORKER_SIDE)
        assert not outcome.sent and not outcome.counted, outcome
    complete(replay, *range(24))


def check_wrong_checksums(replay):
    """Nothing may be summed of a datagram that was altered on its way, or has no checksum
    (R-001)."""
    start_with_a_skip(replay, 24)
    whole = frames.make_frame(frames.packet(ADD, *range(24)), 0, frames.ip_of(0))
    for place in (
        *frames.PLACES_OF_CHECKSUMS,
        30,
        *range(UDP_CHECKSUM.start, ELEMENTS_AT),
        ELEMENTS_AT,
        len(whole) - 1,
    ):
        altered = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        outcome = replay.device.start(altered, FIRST_WORKER_SIDE)
        assert all(counted in (frames.TO_HOST, NONE) for counted in outcome.counted), outcome
        assert {port for port, _ in outcome.sent} <= {HOST_SIDE, *SIDES}, outcome
    without = whole[: UDP_CHECKSUM.start] + bytes(2) + whole[UDP_CHECKSUM.stop :]
    outcome = replay.device.start(without, FIRST_WORKER_SIDE)
    assert outcome.sent == [(HOST_SIDE, without)], outcome
    complete(replay, *range(24))


def check_other_pipes(replay):
    """They have other registers than the first, so packets from their ports pass like other
    traffic."""
    for port in OTHER_PIPES:
        start_with_a_skip(replay, 24)
        whole = frames.make_frame(frames.packet(ADD, *range(24)), 0, frames.ip_of(0))
        outcome = replay.device.start(whole, port)
        assert outcome.sent == [(HOST_SIDE, whole)] and outcome.counted == [NONE], outcome
        wanted = [("Deparse.stations", [number(frames.mac_of(0)), port])]
        assert outcome.notes == wanted, outcome
        complete(replay, *range(24))


def replayed(lines, program, order=None):
    """Replays the packets. Raises AssertionError where the program does not answer as it should."""
    replay = Replay(Device(program, random.Random(SEED)), order)
    replay.run(lines)
    check_other_traffic(replay)
    for check in (
        check_frames_that_are_too_short,
        check_wrong_checksums,
        check_other_pipes,
        *cases.ALL,
    ):
        replay.jobs = 0
        check(replay)
        replay.drain()
    return replay


def read_by_compiler(folder, *definitions):
    """Returns what the front end makes of the program. No stages are placed. The chip cannot have
    the canary's register, so the compiler may fail after that.
    """
    out = pathlib.Path(folder) / "program.json"
    done = subprocess.run(
        [
            COMPILER,
            "--target",
            "tofino",
            "--arch",
            "tna",
            *definitions,
            "-I",
            "planes/p4/pipeline",
            "-o",
            folder,
            "--toJSON",
            str(out),
            "--skip-compilation",
            "pipe",
            "planes/p4/pipeline/targets/tna/infold.p4",
        ],
        cwd=frames.ROOT,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0 and not (definitions and out.exists()):
        sys.exit(done.stdout[-3000:])
    return out


def main():
    if shutil.which(COMPILER) is None:
        frames.skip(f"{COMPILER} is not installed")
    lines = frames.printed(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else SCENARIOS, "tna")
    with tempfile.TemporaryDirectory() as folder:
        program = read_by_compiler(folder)
        print(f"{replayed(lines, program).packets} packets, all answered alike")
        replay = replayed(lines, program, random.Random(SEED))
        print(f"the same while packets wait, {replay.overtaken} of them too long")
    with tempfile.TemporaryDirectory() as folder:
        program = read_by_compiler(folder, "-DINFOLD_CANARY_WITHOUT_ROUND_CHECK")
        frames.expect_difference(lambda: replayed(lines, program))


if __name__ == "__main__":
    main()
