#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile client, with frames and packets of its own, attacks a switch while it serves honest
jobs, and attacks the jobs' ranks. A hostile switch attacks ranks. No process may end, no sum may be
wrong, and no honest job may be late. Memory and threads must stay within the limits that the switch
stated.

Usage: hostile_test.py INFOLD [--plane user|xdp] [--keys] [--minutes M] [--seed S]
           [--only NAME,...] [--without NAME,...]
With --keys the switch uses keys, ranks have a token, and attackers have none.
Without --minutes each attack takes a moment. With --minutes, attacks and their combinations are
drawn until the time is over. The program then prints a table for docs/benchmarks.
"""

import argparse
import pathlib
import random
import subprocess
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "client"), str(HERE.parents[1] / "examples" / "spec_worker")]
import battle
import connection_attacks  # noqa: F401  puts attacks on the list
import http2_attacks  # noqa: F401  likewise
import join_attacks  # noqa: F401  likewise
import joining
import member_cases
import packet_attacks  # noqa: F401  likewise
import switch_cases
import tls_attacks  # noqa: F401  likewise
from attacks import ATTACKS, Connection, Target
from battle import Battle, Loopback, Namespaces, middle, xdp_network
from rank import place_and_keys

# Within this time a switch answers a first keepalive, whatever else the machine does.
GREETING_PATIENCE_S = 60
MOMENT_S = 0.4
LONG_S = 3.0
DRAWN_SWITCHES = 12
SKIPPED = 77


def is_reached(target):
    """Returns whether the switch answers a keepalive. Other attackers may keep it busy."""
    until = time.monotonic() + GREETING_PATIENCE_S
    while time.monotonic() < until:
        try:
            with Connection(target) as first:
                first.socket.settimeout(GREETING_PATIENCE_S)
                first.ask()
                if first.socket.recv(1):
                    return True
        except OSError:
            pass
        time.sleep(0.1)
    return False


def be_attacker(options):
    """Runs one attack, in a process of its own. Errors of sockets, and answers of the switch, do
    not end it."""
    (host, port), fingerprint, _ = place_and_keys(options.at)
    target = Target(host, port, options.source, options.seconds, fingerprint)
    draw = random.Random(options.seed)
    if not is_reached(target):
        print(f"nobody is reached from {options.source}")
        return 1
    target.until = time.monotonic() + options.seconds
    while True:
        try:
            ATTACKS[options.attack](target, draw)
        except (OSError, joining.JobEnded):
            pass
        except Exception:  # noqa: BLE001  printed, and the attacker fails
            traceback.print_exc(file=sys.stdout)
            return 1
        if target.is_over():
            return 0
        target.pause(0.01)


def report(name, started, text=""):
    print(f"{name}: passed, {time.monotonic() - started:.1f} s {text}".rstrip(), flush=True)


class Run:
    """Counts failures, and prints the command that repeats each."""

    def __init__(self, options):
        self.options = options
        self.failed = []

    def case(self, name, function, *arguments):
        if name in self.options.without or (self.options.only and name not in self.options.only):
            return None
        started = time.monotonic()
        try:
            result = function(*arguments)
            report(name, started, "" if result is None else str(result))
            return result
        except (AssertionError, subprocess.TimeoutExpired) as error:
            self.failed.append(name)
            print(
                f"{name}: FAILED: {error}\n  repeat with --only {name} --seed {self.options.seed}",
                flush=True,
            )
            return None


def run_attacks(run, options, ground):
    """Runs each attack alone, for a moment, on one switch that must survive all of them."""
    with ground.up() as up:
        fight = Battle(up, options.infold)
        quiet = middle(fight.medians(0))

        def endure(name):
            medians, resident, threads = fight.endure([name], options.seed, MOMENT_S)
            return (
                f"1 MiB in {middle(medians):.1f} ms (quiet {quiet:.1f}), {resident:.0f} MB, "
                f"{threads} threads"
            )

        for name in ATTACKS:
            run.case(name, endure, name)
        if options.keys:
            return
        run.case("who_knows_the_epoch", member_cases.who_knows_the_epoch, up)
        if up.plane == "user":
            run_members(run, up)


def run_members(run, ground):
    run.case("hostile_members", member_cases.hostile_members, ground)
    for case in (
        member_cases.a_deaf_member_holds_up_nobody,
        member_cases.a_waiting_rank_goes_with_its_process,
        member_cases.patience_is_each_rank_s_own,
        member_cases.an_earlier_version_is_told,
    ):
        run.case(case.__name__, case, ground)
    run.case(
        "packets_to_ranks_change_nothing", member_cases.packets_to_ranks_change_nothing, ground, 2.0
    )


def ground_of(options):
    return (Loopback if options.plane == "user" else Namespaces)(options.infold, options.keys)


def run_short(options):
    run = Run(options)
    ground = ground_of(options)
    run_attacks(run, options, ground)
    if options.plane == "user" and not options.keys:
        run.case(
            "hostile_switches",
            switch_cases.hostile_switches,
            options.infold,
            options.seed,
            DRAWN_SWITCHES,
        )
        for case in (
            switch_cases.a_silent_switch_is_lost,
            member_cases.deaf_members_do_not_hold_up_the_end,
            member_cases.descriptors_come_back,
        ):
            run.case(case.__name__, case, options.infold)
    print(f"{len(run.failed)} failed: {', '.join(run.failed)}" if run.failed else "all passed")
    return 1 if run.failed else 0


def run_long(options):
    """Runs attacks and combinations of up to four until the time is over, and prints a table."""
    draw = random.Random(options.seed)
    until = time.monotonic() + 60 * options.minutes
    ground = ground_of(options)
    wanted = [name for name in options.only or ATTACKS if name not in options.without]
    by_name = {name: [] for name in wanted}
    turns = 0
    with ground.up() as up:
        fight = Battle(up, options.infold)
        quiet = middle(fight.medians(10))
        while time.monotonic() < until:
            together = (
                [wanted[turns]]
                if turns < len(wanted)
                else draw.sample(wanted, min(len(wanted), draw.randrange(2, 5)))
            )
            try:
                medians, resident, threads = fight.endure(together, options.seed + turns, LONG_S)
            except AssertionError as error:
                print(f"turn {turns}, {together}, seed {options.seed}: FAILED: {error}")
                return 1
            for name in together:
                by_name[name].append((middle(medians), resident, threads))
            turns += 1
        jobs, threads_most = fight.jobs, fight.threads_most
        _, most, _ = battle.status_of(up.switch)
    print(f"| attack | 1 MiB, ms (quiet {quiet:.1f}) | resident, MB | threads |\n|---|---|---|---|")
    for name, found in by_name.items():
        if found:
            print(f"| {name} | {found[0][0]:.1f} | {found[0][1]:.0f} | {found[0][2]} |")
    print(
        f"\n{turns} attacks and combinations, {jobs} honest jobs, all in time, 0 wrong sums; "
        f"at most {most / 1e6:.0f} MB and {threads_most} threads"
    )
    return 0


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("infold")
    parser.add_argument("--plane", choices=("user", "xdp"), default="user")
    parser.add_argument("--keys", action="store_true")
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=lambda names: names.split(","), default=[])
    parser.add_argument("--without", type=lambda names: names.split(","), default=[])
    attacker = parser.add_argument_group("of an attacker's process, which this starts itself")
    attacker.add_argument("--attack", choices=tuple(ATTACKS))
    attacker.add_argument("--seconds", type=float)
    attacker.add_argument("--at")
    attacker.add_argument("--from", dest="source", default="")
    return parser.parse_args()


def main():
    options = parse()
    if options.attack:
        return be_attacker(options)
    if options.plane == "xdp":
        xdp_network.be_alone()
    try:
        return run_long(options) if options.minutes else run_short(options)
    except xdp_network.Unavailable as reason:
        print(reason)
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
