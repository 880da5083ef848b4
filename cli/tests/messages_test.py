#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a newcomer's mistakes with the infold binary and checks its messages.

Usage: messages_test.py INFOLD
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from mistakes import BARE, SECONDS, check, refused, run, run_each


def names_flags_that_are_missing(infold, folder):
    bench = ("bench", "allreduce")
    refused(infold, folder, bench, 2, ": no rank: set --rank or INFOLD_RANK")
    refused(infold, folder, (*bench, "--rank", "0"), 2, "no number of ranks: set --ranks or")
    fifth = (*bench, "--rank", "4", "--ranks", "4", "--switch", "127.0.0.1:1")
    refused(infold, folder, fifth, 2, "ranks are numbered 0 to 3")
    said, _ = refused(
        infold,
        folder,
        (*bench, "--rank", "0", "--ranks", "2"),
        2,
        "set --switch or INFOLD_SWITCHES",
        "--rendezvous or INFOLD_RENDEZVOUS",
    )
    check("JoinOptions" not in said, said)
    refused(infold, folder, ("verify",), 2, "no rank: set --rank")
    alone = ("verify", "--rank", "0", "--ranks", "1", "--rendezvous", "127.0.0.1:1", "--flip")
    refused(infold, folder, (*alone, "1000000000"), 2, "--flip 1000000000: there are ", " calls")
    refused(
        infold,
        folder,
        ("verify", "--reductions", "sum,mul"),
        2,
        "'mul' is not a reduction",
        "allowed: sum, average, min, max, or",
    )
    refused(
        infold,
        folder,
        (*bench, "--rank", "0", "--ranks", "2", "--place", "workers", "--switch", "127.0.0.1:9"),
        2,
        "--place is workers, so the ranks do not use the switches",
        "set --place or INFOLD_SITES to mixed",
    )


def says_at_once_what_no_switch_can_do(infold, folder):
    many = ("bench", "allreduce", "--rank", "0", "--ranks", "65", "--rendezvous", "127.0.0.1:1")
    said, _ = refused(infold, folder, many, 2, "--ranks is 65; without a switch it is at most 64")
    check("let a switch sum" in said, said)
    own = ("switch", "--listen", "127.0.0.1:7790", "--parent", "127.0.0.1:7790")
    refused(
        infold, folder, own, 1, "127.0.0.1:7790: is the address of this switch itself; name the"
    )


def names_what_is_wrong_with_a_method(infold, folder):
    bench = ("bench", "codec", "--bytes", "40", "--seconds", "0.001")
    refused(infold, folder, (*bench, "--method", "zip"), 2, "zip", "topk")
    refused(infold, folder, (*bench, "--method", "topk ratio=2"), 2, "topk", "ratio")
    refused(infold, folder, (*bench, "--method", "topk ratio"), 2, "--method")
    refused(infold, folder, (*bench, "--gradients", "absent"), 2, "absent: No such file")


def names_what_can_be_reproduced(infold, folder):
    refused(
        infold,
        folder,
        ("reproduce", "switchml"),
        2,
        "switchml-rate",
        "byteps",
        "all",
        "not 'switchml'",
    )
    done = subprocess.run(
        [infold, "reproduce", "byteps", "--json"],
        cwd=folder,
        env=BARE,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        timeout=SECONDS,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    figures = [line for line in lines if "figure" in line]
    check(len(figures) > 40 and all("theirs" in figure for figure in figures), done.stdout)
    check({figure["unit"] for figure in figures} == {"tensor times", "%"}, done.stdout)
    check(lines[-1]["good"] and lines[-1]["command"] == "infold reproduce byteps", done.stdout)
    refused(
        infold,
        folder,
        ("reproduce", "switchml-models"),
        1,
        "computing switchml-models (1 of 1)",
        "reproduce: a target was missed in switchml-models",
    )


def says_why_a_simulation_cannot_be(infold, folder):
    words = ("sim", "--scenario", "clean", "--ranks", "1000")
    refused(infold, folder, words, 2, "1000 children, and takes 256", "--fan-out")
    refused(
        infold,
        folder,
        (*words, "--depth", "2", "--fan-out", "32", "--elements", "100000000"),
        2,
        "elements",
        "--bulk",
    )


def names_what_is_wrong_with_a_list_of_jobs(infold, folder):
    refused(
        infold,
        folder,
        ("mix", "--jobs", "absent.csv"),
        2,
        "absent.csv: cannot read the file: No such file",
    )
    path = pathlib.Path(folder) / "jobs.csv"
    for text, said in (
        (b"", "jobs.csv: the file has no job; write a line for each, such as: 0, VGG-16, 4, 1"),
        (
            b"0, VGG-16, 4, 1\n0, VGG-99, 4, 1\n",
            "jobs.csv, line 2: unknown model 'VGG-99': must be one of Inception",
        ),
        (b"0, VGG-16, 4\n", "jobs.csv, line 1: 3 fields, not 4"),
        (b"\0" * 2_000_000, "jobs.csv: the file has more than 1048576 bytes"),
        (b"0, VGG-16, 65, 1\n", "job 1 has 65 workers, and the cluster has 64 hosts"),
    ):
        path.write_bytes(text)
        refused(infold, folder, ("mix", "--jobs", path.name), 2, said)
    os.mkfifo(pathlib.Path(folder) / "pipe.csv")
    refused(infold, folder, ("mix", "--jobs", "pipe.csv"), 2, "pipe.csv: it is not a regular file")
    refused(infold, folder, ("emulate", "--plan", "pipe.csv"), 2, "--plan pipe.csv: it is no")
    refused(
        infold,
        folder,
        ("mix", "--slots", "8", "--shares", "9"),
        2,
        "8 slots cannot be divided in 9 shares",
    )
    refused(infold, folder, ("mix", "--perfetto", "mix.json"), 2, "name its --scheduler")
    one = ("mix", "--draw", "1", "--scheduler", "none", "--perfetto")
    refused(infold, folder, (*one, "absent/mix.json"), 1, "absent/mix.json: No such file")
    path.write_bytes(b"0, VGG-16, 4, 1\n")
    refused(
        infold,
        folder,
        ("mix", "--scheduler", "none", "--perfetto", f"./{path.name}", "--jobs", path.name),
        2,
        "jobs.csv would be overwritten",
    )


def names_what_is_wrong_with_a_trace(infold, folder):
    trace = ("trace", "check")
    refused(infold, folder, trace, 2, "name a file: Chakra traces, such as trace.0.et")
    refused(infold, folder, ("whatif",), 2, "name a file: Chakra traces of all ranks")
    for command in (trace, ("trace", "show"), ("trace", "replay"), ("whatif",)):
        refused(infold, folder, (*command, "absent.et"), 2, "absent.et: No such file")
    refused(infold, folder, ("trace", "perfetto", "absent.et", "a.json"), 2, "absent.et: No such")
    refused(infold, folder, (*trace, "."), 2, ". is a folder; name the files in it")
    corpus = pathlib.Path(__file__).resolve().parents[2] / "fuzz" / "corpus"
    seeds = corpus / "trace_trace_file_fuzz"
    for name, texts in (
        ("cut_off", ("message 5 at byte", "cut off", "record it again")),
        ("cycle", ("node 1 'compute' depends on itself", "record the trace again")),
        ("lying_length", ("3 are left",)),
        ("no_size", ("node 1 'sum'", "set its attribute comm_size")),
    ):
        refused(infold, folder, (*trace, str(seeds / name)), 1, str(seeds / name), *texts)
        refused(infold, folder, ("trace", "perfetto", str(seeds / name), "out.json"), 1, *texts)
    good = str(seeds / "one_step")
    refused(infold, folder, (*trace, good, good), 1, "are both of rank 0")
    refused(infold, folder, ("trace", "perfetto", good), 2, "and then the file to write")
    refused(infold, folder, ("trace", "perfetto", good, "b.0.et"), 2, "a file such as run.json")
    replay = ("trace", "replay", good, "--switch", "127.0.0.1:1", "--ranks", "2")
    refused(infold, folder, replay, 2, "no rank: set --rank")
    refused(infold, folder, (*replay, "--rank", "1"), 1, "of rank 0, and --rank is 1")
    refused(
        infold,
        folder,
        ("trace", "replay", str(seeds / "cycle"), "--rank", "0"),
        1,
        "depends on itself",
    )


def refuses_an_empty_path(infold, folder):
    trace = str(
        pathlib.Path(__file__).resolve().parents[2]
        / "fuzz"
        / "corpus"
        / "trace_trace_file_fuzz"
        / "one_step"
    )
    for words in (
        ("whatif", trace, "--svg"),
        ("whatif", trace, "--perfetto"),
        ("whatif", trace, "--traces"),
        ("whatif", trace, "--apart"),
        ("mix", "--perfetto"),
        ("mix", "--jobs"),
        ("mix", "--models"),
        ("emulate", "--plan"),
        ("emulate", "--lag-table"),
        ("emulate", "--lag-of"),
        ("plan", "--processors"),
        ("plan", "--save-processors"),
        ("bench", "codec", "--gradients"),
        ("bench", "compare", "--out"),
        ("demo", "--out"),
        ("switch", "--config"),
    ):
        refused(infold, folder, (*words, ""), 2, f"{words[-1]} must be a path, not ''")
    for command in ("check", "show", "perfetto", "replay"):
        refused(infold, folder, ("trace", command, ""), 2, "file must be a path, not ''")


def knows_a_url(infold, folder):
    words = (
        "bench",
        "allreduce",
        "--rank",
        "0",
        "--ranks",
        "2",
        "--switch",
        "http://10.0.0.1:7700",
    )
    refused(infold, folder, words, 2, "--switch: 'http://10.0.0.1:7700' is a URL; write HOST:PORT")


def says_why_an_address_cannot_be_had(infold, folder):
    """infold reports this in one line, without lines from a library before it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        for words, option in (
            (("switch", "--listen", "127.0.0.1:0", "--join", place), "--join "),
            (("switch", "--listen", place), "--listen "),
            (
                ("bench", "allreduce", "--rank", "0", "--ranks", "2", "--rendezvous", place),
                "--rendezvous: rank 0 cannot listen at ",
            ),
        ):
            said, _ = refused(infold, folder, words, 1, f"{option}{place}: the address is in use")
            check(len(said.splitlines()) == 1, f"{words}: {said}")
    emulate = ("emulate", "--ranks", "4", "--place", "workers", "--listen")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        refused(
            infold,
            folder,
            (*emulate, f"127.0.0.1:{port - 2}"),
            1,
            f"--listen 127.0.0.1:{port}: the address is in use; 4 ports from {port - 2} on",
        )
    refused(
        infold,
        folder,
        (*emulate, "127.0.0.1:65533"),
        1,
        "127.0.0.1:65533: 4 ports are needed from this one on, and the last port is 65535; "
        "choose 65532 or a lower one",
    )
    bench = ("bench", "allreduce", "--rank", "0", "--ranks", "2", "--switch", "127.0.0.1:1")
    refused(
        infold,
        folder,
        (*bench, "--address", "192.0.2.1"),
        1,
        "cannot send from 192.0.2.1: this host has no such address; choose an address of this "
        "host with --address",
    )
    refused(
        infold, folder, (*bench, "--address", "10.0.0.1:1"), 1, "--address: '10.0.0.1:1' is not"
    )
    low = "127.0.0.1:1"
    if int(pathlib.Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text()) < 2:
        print("  low ports need no privilege here")
        return
    drop = ("setpriv", "--bounding-set=-net_bind_service") if os.geteuid() == 0 else ()
    program, *first = (*drop, infold)
    for words in (
        ("switch", "--listen", low),
        ("bench", "allreduce", "--rank", "0", "--ranks", "2", "--rendezvous", low),
    ):
        refused(
            program,
            folder,
            (*first, *words),
            1,
            f"{low}: ports below 1024 need root or CAP_NET_BIND_SERVICE",
        )


def takes_sizes_as_people_type_them(infold, folder):
    words = ("bench", "allreduce", "--bytes")
    refused(infold, folder, (*words, "1M,4KiB"), 2, "no rank")
    refused(infold, folder, (*words, "4,,8"), 2, "with commas between, not '4,,8'")
    refused(infold, folder, (*words, "5"), 2, "--bytes 5: an element of f32 has 4 bytes; choose a")
    refused(infold, folder, (*words, "4", "--dtype", "f64"), 2, "an element of f64 has 8 bytes")
    compare = ("bench", "compare", "--one-host", "--bytes", "6")
    refused(infold, folder, compare, 2, "--bytes 6: an element of f32 has 4 bytes")
    refused(infold, folder, (*words, "1M,large"), 2, "--bytes must be sizes from 4B to")


def does_not_ignore_a_wire_format(infold, folder):
    words = (
        "bench",
        "allreduce",
        "--rank",
        "0",
        "--ranks",
        "1",
        "--rendezvous",
        "127.0.0.1:1",
        "--dtype",
        "i32",
        "--format",
        "bfp8",
    )
    refused(infold, folder, words, 2, "--format bfp8: packets carry integers unchanged")


def names_the_line_of_a_settings_file(infold, folder):
    file = pathlib.Path(folder, "switch.toml")
    for text, said in (
        ("listen = ':7700'\nslots = 'many'\n", "switch.toml:2: --slots must be"),
        ("\n\nslots = [1]\n", "switch.toml:3: 'slots' is neither"),
        ("slot = 1\n", "switch.toml:1: there is no option --slot; did you mean --slots?"),
        ("\npin = 'perhaps'\n", "switch.toml:2: "),
        ("slots = 1.5\n", "switch.toml:1: --slots must be a whole number"),
        ("mtu = true\n", "switch.toml:1: --mtu must be a whole number"),
        ("\nplane = 7\n", "switch.toml:2: --plane must be one of user, xdp"),
        ("\nlisten = '7700'\n", "switch.toml:2: --listen: '7700' has no port"),
        ("listen = ''\n", "switch.toml:1: --listen: '' has no port"),
        ("join = 7700\n", "switch.toml:1: --join: '7700' has no port"),
        (
            "parent = 'fd00::1:7700'\n",
            "switch.toml:1: --parent: 'fd00::1:7700' is an IPv6 address without",
        ),
        (
            "metrics = '127.0.0.1:70000'\n",
            "switch.toml:1: --metrics: '127.0.0.1:70000' has a port outside",
        ),
        ("[listen]\nport = 7700\n", "switch.toml:1: 'listen' is neither"),
        ("mtu = 2026-11-23\n", "switch.toml:1: 'mtu' is neither"),
        ("mtu = 1500\nmtu = 1500\n", "switch.toml:2: "),
        ("mtu = \n", "switch.toml:1: "),
    ):
        file.write_text(text)
        refused(infold, folder, ("switch", "--config", str(file)), 2, said)
    file.unlink()


def finds_a_bad_place_before_it_trains(infold, folder):
    words = ("demo", "--steps", "5000", "--out", "nowhere/demo.svg")
    _, took = refused(
        infold,
        folder,
        words,
        1,
        "infold demo: cannot write nowhere/demo.svg: No such file",
        "; choose another file",
    )
    check(took < SECONDS / 2, f"found out after {took:.0f} s")


def sums_with_fewer_slots_than_a_job_asks_for(infold, folder):
    """Ranks ask for 512 slots. A switch with 400 gives the job all that it has."""
    with subprocess.Popen(
        [infold, "switch", "--listen", "127.0.0.1:0", "--slots", "400", "--json"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as switch:
        try:
            address = json.loads(switch.stdout.readline())["join"]
            words = (
                "bench",
                "allreduce",
                "--switch",
                address,
                "--ranks",
                "2",
                "--bytes",
                "1M",
                "--shared-memory",
                "off",
                "--iterations",
                "2",
                "--check",
                "1",
            )
            with ThreadPoolExecutor() as pool:
                ranks = list(
                    pool.map(lambda rank: run(infold, folder, *words, "--rank", rank), ("0", "1"))
                )
        finally:
            switch.terminate()
    for status, said, _ in ranks:
        check(status == 0, f"status {status}: {said}")


def reports_a_swarm_in_lines(infold, folder):
    status, said, _ = run(infold, folder, "sim", "--swarm", "1000")
    check(status == 0, said)
    check("\r" not in said, repr(said))
    check(3 <= len(said.splitlines()) <= 40, said)
    check(said.endswith("1000 of 1000 runs, 0 failed\n"), repr(said))


CASES = (
    names_flags_that_are_missing,
    says_at_once_what_no_switch_can_do,
    names_what_is_wrong_with_a_method,
    names_what_can_be_reproduced,
    says_why_a_simulation_cannot_be,
    names_what_is_wrong_with_a_list_of_jobs,
    names_what_is_wrong_with_a_trace,
    refuses_an_empty_path,
    knows_a_url,
    says_why_an_address_cannot_be_had,
    takes_sizes_as_people_type_them,
    does_not_ignore_a_wire_format,
    names_the_line_of_a_settings_file,
    finds_a_bad_place_before_it_trains,
    sums_with_fewer_slots_than_a_job_asks_for,
    reports_a_swarm_in_lines,
)


if __name__ == "__main__":
    sys.exit(run_each(CASES))
