#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A network on this machine: one namespace for each rank and one for the switch, joined by links.

Rank R is 10.77.0.(R+1) and fd77::(R+1, in hexadecimal), the switch 10.77.0.254 and fd77::fe.
docs/lab.md has more.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import signal
import sys

import links
import network
import renamed
import reorder

EXAMPLES = """examples:
  ./dev lab up --ranks 8 --link 100mbit       eight hosts and a switch
  ./dev lab up --ranks 2 --link none          as fast as the machine copies
  ./dev lab up --ranks 4 --link 1gbit --mtu 9000 --loss 0.01
  ./dev lab up --ranks 8 --link 100mbit --loss-at 3=0.02 --link-at 7=10mbit
  ./dev lab up --ranks 2 --link 1gbit --reorder 0.05
  ./dev lab up --ranks 2 --link none --plane p4
  ./dev lab exec 0 ip -s link                 a command on the host of rank 0
  ./dev lab exec switch ip address
  ./dev lab status --json
  ./dev lab down"""


def rate(text):
    try:
        return links.parse_rate(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def number(kind, low, high):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not low <= value <= high:
            raise argparse.ArgumentTypeError(f"a number from {low} to {high}, not '{text}'")
        return value

    return parse


def at_rank(parse_value):
    """Parses RANK=VALUE to (rank, value)."""

    def parse(text):
        rank, separator, value = text.partition("=")
        if not separator or not re.fullmatch(r"\d{1,3}", rank):
            raise argparse.ArgumentTypeError(f"RANK=VALUE, not '{text}'")
        return int(rank), parse_value(value)

    return parse


def matching(pattern, what):
    def parse(text):
        if not re.fullmatch(pattern, text):
            raise argparse.ArgumentTypeError(f"{what}, not '{text}'")
        return text

    return parse


def add_up(commands, common):
    up = commands.add_parser("up", parents=[common], help="make a lab, or keep an equal one")
    up.add_argument("--ranks", type=number(int, 1, 250), required=True, help="how many ranks")
    up.add_argument(
        "--link",
        type=rate,
        required=True,
        help="of each link in each direction, as 100mbit or 10gbit; none for unshaped",
    )
    up.add_argument("--mtu", type=number(int, 1280, 65000), default=1500, help="default 1500")
    up.add_argument(
        "--loss",
        type=number(float, 0, 1),
        default=0.0,
        help="probability for each packet in each direction of each link (default 0)",
    )
    up.add_argument(
        "--link-at",
        type=at_rank(rate),
        metavar="RANK=RATE",
        action="append",
        default=[],
        help="of the link of one rank instead; may be repeated",
    )
    up.add_argument(
        "--loss-at",
        type=at_rank(number(float, 0, 1)),
        metavar="RANK=P",
        action="append",
        default=[],
        help="probability on the link of one rank instead; may be repeated",
    )
    up.add_argument(
        "--reorder",
        type=number(float, 0, 0.5),
        default=0.0,
        metavar="P",
        help="share of the packets, in each direction of each link, that are held back "
        "for a few milliseconds, so that later ones overtake them (default 0)",
    )
    up.add_argument(
        "--congestion",
        type=matching(r"[a-z0-9_]+", "a name such as cubic"),
        help="TCP's congestion control (default: the machine's own)",
    )
    up.add_argument(
        "--plane",
        choices=("bridge", "p4"),
        default="bridge",
        help="what joins the links: the kernel's bridge, or p4, BMv2 without a program "
        "(default bridge)",
    )
    return up


def parse():
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--name",
        default="infold",
        help="of the lab, where there are several; its "
        "namespaces are NAME-switch, NAME-0, ... (default infold)",
        type=matching(r"[a-z][a-z0-9-]{0,40}", "lower-case letters and digits"),
    )
    parser = argparse.ArgumentParser(
        prog="./dev lab",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    up = add_up(commands, common)
    run = commands.add_parser("exec", parents=[common], help="run a command on a host")
    run.add_argument(
        "node", metavar="RANK|switch", type=matching(r"\d+|switch", "a rank or switch")
    )
    run.add_argument("words", metavar="CMD", nargs=argparse.REMAINDER)
    status = commands.add_parser("status", parents=[common], help="what stands, and its counters")
    status.add_argument("--json", action="store_true", help="print one JSON object")
    commands.add_parser("down", parents=[common], help="remove the lab and all that runs in it")
    if sys.argv[1:2] == ["up"]:
        renamed.refuse(up, sys.argv[2:])
    options = parser.parse_args()
    if options.command == "up":
        for rank, _ in [*options.link_at, *options.loss_at]:
            if rank >= options.ranks:
                up.error(f"there is no rank {rank} among {options.ranks}")
    if options.command == "exec":
        options.words = options.words[options.words[:1] == ["--"] :]
        if not options.words:
            run.error("a command is needed")
    return options


@contextlib.contextmanager
def alone():
    """Holds a lock, because two callers must not make or remove a lab at once."""
    with open("/run/lock/infold-lab.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def speed(bits_per_second):
    return "not shaped" if bits_per_second is None else f"{bits_per_second / 1e6:g} Mbit/s each way"


def describe(options):
    text = "a P4 device, " if options.is_p4 else ""
    text += f"{options.world} ranks, links {speed(options.rate)}, MTU {options.mtu}"
    if options.loss:
        text += f", lose {options.loss:g} of the packets each way"
    if options.reorder:
        text += f", hold back {options.reorder:g} of the packets each way"
    for rank in sorted(options.rate_at | options.loss_at):
        own = [speed(options.rate_at[rank])] if rank in options.rate_at else []
        if rank in options.loss_at:
            own.append(f"loses {options.loss_at[rank]:g}")
        text += f"; link {rank} {', '.join(own)}"
    return text


def up(lab, typed):
    options = network.Options(
        typed.ranks,
        typed.link,
        typed.mtu,
        typed.loss,
        typed.congestion or "",
        typed.plane,
        typed.reorder,
        dict(typed.link_at),
        dict(typed.loss_at),
    )
    network.require(options)
    with alone():
        made = lab.up(options)
    print(f"lab {lab.name} {'is up' if made else 'was up already'}: {describe(options)}")
    if options.reorder and options.mtu > reorder.NATIVE_MTU_MAX:
        print(
            f"note: at an MTU above {reorder.NATIVE_MTU_MAX} a packet program runs in generic "
            "mode, and the kernel lets held packets to the switch pass it unseen"
        )


def execute(lab, typed):
    network.require()
    namespace = lab.namespace(typed.node)
    if namespace not in lab.namespaces():
        raise links.LabError(
            f"there is no host {typed.node} in lab {lab.name}; ./dev lab status shows what there is"
        )
    # Give the host its own name, because programs on many hosts tell the hosts apart by it.
    sys.stdout.flush()
    os.execvp(
        "ip",
        [
            "ip",
            "netns",
            "exec",
            namespace,
            "unshare",
            "--uts",
            "sh",
            "-c",
            'hostname "$0" && exec "$@"',
            namespace,
            *typed.words,
        ],
    )


def status(lab, typed):
    network.require()
    options = lab.options()
    if options is None:
        left = lab.namespaces()
        if typed.json:
            print(json.dumps({"name": lab.name, "up": False, "left_over": left}))
        else:
            note = f"; left over: {' '.join(left)}; ./dev lab down removes them" if left else ""
            print(f"lab {lab.name} is down{note}")
        return
    counters = list(lab.links(options))
    if typed.json:
        hosts = {
            str(n): {
                "namespace": lab.namespace(n),
                "ipv4": network.address(n),
                "ipv6": network.address(n, 6),
            }
            for n in [network.SWITCH, *range(options.world)]
        }
        print(
            json.dumps(
                {
                    "name": lab.name,
                    "up": True,
                    **options.common(),
                    "hosts": hosts,
                    "links": counters,
                }
            )
        )
        return
    print(f"lab {lab.name} is up: {describe(options)}")
    print(f"switch 10.77.0.254 fd77::fe in {lab.namespace('switch')}")
    print(
        f"{'rank':>4} {'address':<12} {'way':<5}{'packets':>11} {'bytes':>14} {'lost':>9} "
        f"{'overflowed':>10} {'held':>9}"
    )
    for link in counters:
        print(
            f"{link['rank']:>4} {network.address(link['rank']):<12} {link['direction']:<5}"
            f"{link['packets']:>11} {link['bytes']:>14} {link['lost']:>9} "
            f"{link['overflowed']:>10} {link['held']:>9}"
        )


def down(lab, _typed):
    network.require()
    with alone():
        count = lab.down()
    print(f"lab {lab.name}: removed {count} namespaces" if count else f"lab {lab.name} was down")


def interrupted(_signal, _frame):
    raise KeyboardInterrupt


def main():
    typed = parse()
    signal.signal(signal.SIGTERM, interrupted)
    commands = {"up": up, "exec": execute, "status": status, "down": down}
    try:
        commands[typed.command](network.Lab(typed.name), typed)
    except links.LabError as error:
        print(f"dev lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dev lab: stopped on request", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
