#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types commands that are mistaken as a whole: options that do not go together, wrong names and
files that cannot be read or written. Checks that each message names the fault and the remedy.

Usage: mistaken_commands_test.py INFOLD
"""

import pathlib
import subprocess
import sys

from mistakes import SECONDS, check, refused, run, run_each


def refuses_what_has_no_effect(infold, folder):
    path = pathlib.Path(folder) / "jobs.csv"
    path.write_bytes(b"0, VGG-16, 4, 1\n")
    trace = str(
        pathlib.Path(__file__).resolve().parents[2] / "fuzz/corpus/trace_trace_file_fuzz/one_step"
    )
    for words, text in (
        ("sim --ranks 3", "--ranks needs --scenario as well"),
        ("sim --loss 0.1", "--loss needs --scenario as well"),
        ("sim --first-seed 3", "--first-seed needs --swarm as well"),
        ("sim --swarm 3 --seed 3", "give --seed or --swarm, not both"),
        ("sim --bench --trace", "give --trace or --bench, not both"),
        ("sim --scenario clean --link 5", "--link must be 0, or a rate from 1M to 400G, not 5"),
        ("bench xdp --ranks 4", "--ranks needs --network as well"),
        (
            "bench allreduce --layout rows --op max",
            "--layout rows: zeros count under --op max, so that none can be left out; choose",
        ),
        ("bench allreduce --layout blocks --op min", "--layout blocks: zeros count under --op min"),
        ("mix --jobs jobs.csv --draw 3", "give --jobs or --draw, not both"),
        ("mix --print-jobs --perfetto a.json", "give --print-jobs or --perfetto, not both"),
        ("mix --racks 1 --rack-link 10G", "--rack-link needs several racks; add --racks 2"),
        ("mix --racks 1 --placement spread", "--placement needs several racks"),
        ("mix --scheduler none --credit 7", "--credit: --scheduler none calls whole layers"),
        ("mix --scheduler slots --shares 2", "--shares: with --scheduler slots, jobs take turns"),
        ("emulate --overhead 42", "--overhead: links without a rate take no time for bytes"),
        (
            "bench allreduce --rank 0 --ranks 2 --switch a:1 --switch-weight 3",
            "--switch-weight has no effect where only switches sum; drop it, or add --place mixed",
        ),
        (
            "verify --rank 0 --ranks 2 --rendezvous a:1 --worker-weight 3",
            "--worker-weight has no effect where only the ranks sum; drop it",
        ),
        ("emulate --seed 7", "--seed: nothing is random here; add --loss or --lag-us"),
        ("emulate --real-links", "--real-links: no link is emulated; add --link"),
        ("whatif TRACE --place ring --slots 9", "--slots: no place has packets of infold; add"),
        ("whatif TRACE --place nowhere --loss 0.1", "--loss: no place has packets of infold"),
        ("whatif TRACE --place switch --seed 2", "--seed: nothing is random here; add --loss"),
        (
            "whatif TRACE --model formula --slots 9",
            "--model formula knows neither losses nor slots",
        ),
    ):
        typed = [trace if word == "TRACE" else word for word in words.split()]
        refused(infold, folder, typed, 2, text)


def names_the_fault_of_a_file(infold, folder):
    """A link to itself can be read by nobody, not even by root."""
    pathlib.Path(folder, "loop").symlink_to("loop")
    fault = "cannot read the file: Too many levels of symbolic links"
    refused(infold, folder, ("mix", "--jobs", "loop"), 2, f"loop: {fault}")
    refused(infold, folder, ("mix", "--models", "loop"), 2, f"loop: {fault}")
    refused(infold, folder, ("emulate", "--plan", "loop"), 2, f"--plan loop: {fault}")
    said, _ = refused(
        infold,
        folder,
        ("plan", "--processors", "absent"),
        2,
        "infold plan: --processors must be table, any, measure or a file; 'absent': cannot read",
    )
    saves = ("plan", "--processors", "measure", "--save-processors", "absent/costs")
    said, _ = refused(
        infold, folder, saves, 1, "infold plan: --save-processors absent/costs: No such"
    )
    check("--processors --save" not in said, said)


def compares_what_there_is(infold, folder):
    compare = ("bench", "compare", "--one-host", "--ranks", "2", "--rounds", "1")
    said, _ = refused(
        infold, folder, (*compare, "--infold", "gloo-ring"), 2, "there is no 'gloo-ring'", "native"
    )
    check("infold-" not in said and "gloo-ring," not in said, said)
    said, _ = refused(infold, folder, (*compare, "--rivals", "infold-native"), 2, "gloo-ring")
    check("infold-native," not in said, said)
    # The whole name of a variant is right, so the command finds the next mistake.
    whole = (*compare, "--infold", "infold-native", "--rivals", "none", "--out")
    pathlib.Path(folder, "file").touch()
    _, took = refused(infold, folder, (*whole, "file/out"), 1, "--out file/out: Not a directory")
    check(took < SECONDS / 2, f"found out after {took:.0f} s")
    refused(
        infold,
        folder,
        ("bench", "compare", "--congestion", "nosuch"),
        2,
        "--congestion nosuch: this kernel lacks it and has no module tcp_nosuch; every Linux has "
        "reno",
    )
    refused(infold, folder, ("bench", "compare", "--link", "10MB/s"), 2, "10MB/s is 80Mbit")


def fails_where_it_cannot_write(infold, _):
    for words in (("--help",), ("help", "bench", "core"), ("--version",)):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(
                [infold, *words],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
                timeout=SECONDS,
            )
        check(done.returncode == 1, f"{words}: status {done.returncode}")
        check("cannot write the output" in done.stderr, done.stderr)


def suggests_a_close_name(infold, folder):
    for words, text in (
        (("allreduce",), "no command 'allreduce'; did you mean infold bench allreduce?"),
        (("simm",), "did you mean sim?"),
        (("plan", "--elements", "3"), "the option --elements is now called --bytes, and counts"),
        (("hlep",), "no command 'hlep'; did you mean help?"),
        (("version",), "no command 'version'; did you mean --version?"),
        (("plan", "--rtt", "50"), "there is no option --rtt; did you mean --rtt-us?"),
        (("emulate", "--rtt", "50"), "there is no option --rtt; did you mean --rtt-us?"),
        (("bench", "allreduce", "--place", "switch"), "not 'switch'; did you mean switches?"),
        (("verify", "--bytes", "4"), "infold verify counts elements, because its types have"),
        (("verify", "--size", "4"), "sizes; use --elements"),
        (("mix", "--workers", "5"), "infold mix draws the ranks of each job; use --ranks-max"),
        (("nope", "--help"), "there is no command 'nope'"),
        (("--help", "nope"), "there is no command 'nope'"),
        (("bench", "nope", "--help"), "there is no command 'nope'"),
        (("trace", "-h", "foo"), "there is no command 'foo'"),
    ):
        refused(infold, folder, words, 2, text)
    for words in (("plan", "--place", "switches", "--json"), ("bench", "core", "--help")):
        status, said, _ = run(infold, folder, *words)
        check(status == 0, f"{words}: {said}")
    said, _ = refused(infold, folder, ("bench", "xx"), 2, "no command 'xx'")
    check("did you mean" not in said, said)
    status, said, _ = run(infold, folder, "help", "help")
    check(status == 0, said)


def prints_the_port_that_it_has(infold, _):
    with subprocess.Popen(
        [infold, "switch", "--listen", "127.0.0.1:0"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as switch:
        first = switch.stdout.readline()
        switch.terminate()
    join = first.split("ranks join at ")[1].strip()
    check(join.startswith("127.0.0.1:") and f"packets at {join}," in first, first)


def names_the_fault_of_a_token(infold, folder):
    state = ("--state", str(pathlib.Path(folder, "state")))
    for words, status, text in (
        (
            "token new --ttl 8",
            2,
            "--ttl must be a time such as 90s, 30m, 8h or 7d, or none, not '8'",
        ),
        ("token new --ttl 8w", 2, "--ttl must be a time"),
        ("token new --ttl -8h", 2, "--ttl must be a time"),
        ("token new --ranks 0", 2, "--ranks must be"),
        ("token new --at nowhere", 2, "--at: 'nowhere'"),
        ("token revoke train", 2, "is not the id of a token, which has 16 digits"),
        ("token revoke", 2, "id"),
        ("token nwe", 2, "no command 'nwe'; did you mean new?"),
        ("token list", 1, f"--state: cannot open the directory {state[1]}: No such file"),
        ("token show", 1, "--state: cannot open the directory"),
        ("token secret --renew", 1, "--state: cannot open the directory"),
    ):
        refused(infold, folder, (*words.split(), *state), status, text)
    refused(infold, folder, ("token", "new", "--job", "j" * 129), 2, "--job must have at most 128")
    pathlib.Path(state[1]).mkdir(mode=0o700)
    refused(
        infold,
        folder,
        ("token", "new", *state),
        1,
        "has no certificate yet: a switch makes it when it starts with keys",
    )


def names_the_fault_of_keys(infold, folder):
    switch = ("switch", "--listen", "127.0.0.1:0")
    refused(infold, folder, (*switch, "--keys", "--insecure"), 2, "give --keys or --insecure, not")
    pathlib.Path(folder, "file").touch()
    refused(
        infold,
        folder,
        (*switch, "--keys", "--state", "file"),
        1,
        "--state: cannot open the directory file: Not a directory (with --insecure, the switch",
    )
    for parent, text in (
        ("@none", "--parent: cannot read none: No such file"),
        ("10.0.0.1:7700#", "--parent: '10.0.0.1:7700' has no '.' between fingerprint and token"),
        ("10.0.0.1", "--parent: '10.0.0.1' has no port"),
        ("a:1,b:1", "--parent: "),
    ):
        refused(infold, folder, (*switch, "--parent", parent), 2, text)
    join = ("bench", "allreduce", "--rank", "0", "--ranks", "2", "--switch")
    said, _ = refused(
        infold, folder, (*join, "10.0.0.1:7700#abc.secret"), 2, "has a fingerprint that is not"
    )
    check("secret" not in said, said)


CASES = (
    refuses_what_has_no_effect,
    names_the_fault_of_a_file,
    compares_what_there_is,
    fails_where_it_cannot_write,
    suggests_a_close_name,
    prints_the_port_that_it_has,
    names_the_fault_of_a_token,
    names_the_fault_of_keys,
)


if __name__ == "__main__":
    sys.exit(run_each(CASES))
