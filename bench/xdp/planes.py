#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the same sums in turn through a switch in user space and one in the kernel, in a lab.

Planes:
  user        infold switch
  user-plain  the same without offloads: packets pass its sockets and links one by one
  kernel      infold switch --plane xdp; ranks compute their own checksums and coalesce what arrives

Prints medians over the rounds: rank 0's figures, and the whole machine's processor time for all
sizes of a round together, including joining. With --json it also prints each round. Needs root, and
a machine without other work, because the processor time counts all processes. If there is no lab or
no packet program, it ends with status 77.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = "infold-planes"
SWITCH = "10.77.0.254:7700"
PATIENCE_S = 600
SKIPPED = 77
# The features of both ends of each link, first the rank's, then the switch's. On a shaped link the
# lab has turned all of them off, so the link carries single packets with any plane. On such a link
# one can choose only checksums, and coalescing at a rank.
TRAINS = {"tso": "on", "gso": "on", "tx-udp-segmentation": "on"}
SINGLE = {"tso": "off", "gso": "off", "tx-udp-segmentation": "off", "gro": "off"}
LINKS = {
    "user": ({"tx": "on", **TRAINS, "gro": "off"}, TRAINS),
    "user-plain": ({"tx": "on", **SINGLE}, SINGLE),
    "kernel": ({"tx": "off", "gro": "on"}, {"tso": "off"}),
}
LEFT_WHEN_SHAPED = ("tx", "gro")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--planes", default="user,kernel", help="of those above")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--link", default="none", help="of each link, as ./dev lab takes it")
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--bytes", default="26214400", help="sizes of the tensor, by commas")
    parser.add_argument("--iterations", type=int, default=0, help="of each size; 0: by size")
    parser.add_argument("--format", default="bfp32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--binary", default=str(ROOT / "build/release/infold"))
    parser.add_argument("--json", action="store_true", help="also print each round")
    options = parser.parse_args()
    for plane in options.planes.split(","):
        if plane not in LINKS:
            parser.error(f"there is no plane {plane}")
    return options


def lab(*words):
    if (
        subprocess.run(
            [str(ROOT / "tools/lab/lab.py"), *words, "--name", LAB],
            check=False,
            stdout=subprocess.DEVNULL,
        ).returncode
        != 0
    ):
        sys.exit(SKIPPED)


def at(node, *words):
    return ["ip", "netns", "exec", f"{LAB}-{node}", *words]


def busy_s():
    """Returns the seconds that all processors together were busy."""
    fields = pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:]
    user, nice, system, _, _, irq, soft = (int(field) for field in fields[:7])
    return (user + nice + system + irq + soft) / 100


def set_features(options, node, device, wanted):
    words = [
        word
        for name, state in wanted.items()
        for word in (name, state)
        if options.link == "none" or name in LEFT_WHEN_SHAPED
    ]
    if words:
        # ethtool reports an error if nothing changes.
        subprocess.run(at(node, "ethtool", "-K", device, *words), check=False, capture_output=True)


def set_links(options, plane):
    of_rank, of_port = LINKS[plane]
    for rank in range(options.ranks):
        set_features(options, rank, "eth0", of_rank)
        set_features(options, "switch", f"port{rank}", of_port)


def switch_words(options, plane):
    words = [options.binary, "switch", "--insecure", "--listen", SWITCH, "--json"]
    if plane == "kernel":
        ports = ",".join(f"port{rank}" for rank in range(options.ranks))
        words += ["--plane", "xdp", "--dev", ports]
    return words + (["--no-offload"] if plane == "user-plain" else [])


def rank_words(options, rank):
    return [
        options.binary,
        "bench",
        "allreduce",
        "--switch",
        SWITCH,
        "--rank",
        str(rank),
        "--ranks",
        str(options.ranks),
        "--bytes",
        options.bytes,
        "--format",
        options.format,
        "--iterations",
        str(options.iterations),
        "--shared-memory",
        "off",
        "--check",
        "--json",
    ]


def run_ranks(options, plane):
    """Returns rank 0's output. The other ranks wait for rank 0 in their sums."""
    ranks = [
        subprocess.Popen(at(rank, *rank_words(options, rank)), text=True, stdout=subprocess.PIPE)
        for rank in range(options.ranks)
    ]
    try:
        said = [rank.communicate(timeout=PATIENCE_S)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    if any(rank.returncode for rank in ranks):
        sys.exit(f"{plane}: a rank failed")
    return said[0]


def measure(options, plane):
    """Returns rank 0's figures for each size, with the processor time of all processes."""
    set_links(options, plane)
    with subprocess.Popen(
        at("switch", *switch_words(options, plane)), stdout=subprocess.PIPE, text=True
    ) as switch:
        try:
            if not switch.stdout.readline():
                sys.exit(SKIPPED)  # it has printed the reason
            before = busy_s()
            said = run_ranks(options, plane)
            spent = busy_s() - before
        finally:
            switch.terminate()
            ended = switch.communicate(timeout=PATIENCE_S)[0]
    results = [json.loads(line) for line in said.splitlines()]
    if options.json:
        print(
            json.dumps(
                {
                    "plane": plane,
                    "busy_s": spent,
                    "sizes": results,
                    "switch": json.loads(ended.splitlines()[-1]),
                }
            ),
            flush=True,
        )
    return spent, results


def report(options, measured):
    median = statistics.median
    first = options.planes.split(",")[0]
    print(
        f"world {options.ranks}, links {options.link}, MTU {options.mtu}, {options.format}; "
        f"medians of {options.rounds} rounds, ratios to {first}"
    )
    print(
        f"{'plane':<11} {'bytes':>10} {'median ms':>10} {'ratio':>6} {'p99 ms':>9} "
        f"{'CPU s':>7} {'ratio':>6}"
    )
    for size in range(len(options.bytes.split(","))):
        for plane in options.planes.split(","):

            def of(key, who=plane, which=size):
                return [results[which][key] for _, results in measured[who]]

            spent = [seconds for seconds, _ in measured[plane]]
            times = of("median_ms")
            pace = median(a / b for a, b in zip(times, of("median_ms", first), strict=True))
            work = median(a / b for a, (b, _) in zip(spent, measured[first], strict=True))
            print(
                f"{plane:<11} {of('bytes')[0]:>10} {median(times):>10.4f} {pace:>6.2f} "
                f"{median(of('p99_ms')):>9.4f} {median(spent):>7.2f} {work:>6.2f}"
            )


def main():
    options = parse()
    planes = options.planes.split(",")
    lab("up", "--ranks", str(options.ranks), "--link", options.link, "--mtu", str(options.mtu))
    try:
        measured = {plane: [] for plane in planes}
        for _ in range(options.rounds):
            for plane in planes:
                measured[plane].append(measure(options, plane))
    finally:
        lab("down")
    report(options, measured)


if __name__ == "__main__":
    main()
