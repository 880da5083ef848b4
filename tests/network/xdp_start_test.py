#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts switches in the kernel where something is missing or limited, and reads what they say.

Usage: xdp_start_test.py INFOLD [TEST ...]
Needs root. Without packet programs or namespaces it ends with status 77 and the reason.
"""

import json
import sys

from processes import expect, outcome, wait_for_sums
from xdp_network import (
    LONG,
    PINS,
    SUMS,
    SWITCH,
    Network,
    at,
    attached,
    be_alone,
    expect_all_well,
    network,
    ports,
    run_all,
    space_of,
    stop,
)


def what_is_missing_is_said_in_one_sentence(binary):
    with network(1), Network(binary) as job:
        command = ("switch", "--insecure", "--plane", "xdp", "--listen", SWITCH)
        for dropped, missing in (
            ("-net_admin", "it lacks CAP_NET_ADMIN;"),
            ("-sys_admin,-bpf", "it lacks CAP_BPF;"),
            (
                "-sys_admin,-bpf,-perfmon,-net_admin",
                "it lacks CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON;",
            ),
        ):
            limited = job.start(
                space_of("switch"),
                "setpriv",
                f"--bounding-set={dropped}",
                binary,
                *command,
                "--dev",
                "port0",
            )
            status, said = outcome(limited)
            expect(status == 1 and missing in said and said.count("\n") == 1, said)
        held = "bpf,+net_admin,+perfmon"
        plain = job.start(
            space_of("switch"),
            "setpriv",
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            f"--inh-caps=-all,+{held}",
            f"--ambient-caps=+{held}",
            binary,
            *command,
            "--dev",
            "port0",
        )
        expect("summed in the kernel" in plain.stdout.readline(), "these three are not enough")
        expect_all_well(job.start_ranks(1, *SUMS))
        plain.terminate()
        status, said = outcome(plain)
        expect(status == 0 and "completed" in said, said)
        for device, address, text in (
            ("none0", SWITCH, "--dev: there is no interface 'none0'"),
            ("port0", "10.9.9.9:7700", "10.9.9.9:7700: "),
        ):
            status, said = outcome(
                job.at(
                    "switch",
                    "switch",
                    "--insecure",
                    "--plane",
                    "xdp",
                    "--dev",
                    device,
                    "--listen",
                    address,
                )
            )
            expect(status == 1 and text in said and said.count("\n") == 1, said)
        at("switch", "umount", PINS)
        try:
            status, said = outcome(job.at("switch", *command, "--dev", "port0", "--pin"))
            expect(status == 1 and f"mount -t bpf bpf {PINS}" in said, said)
        finally:
            at("switch", "mount", "-t", "bpf", "bpf", PINS)
        expect(not attached("port0"), "something is attached")


def the_doctor_foresees_what_the_switch_says(binary):
    """Compares messages about the modes of interfaces, and about capabilities."""

    def findings(*words):
        said = at("switch", *words, binary, "doctor", "--plane", "xdp", "--json")
        return {
            found["name"].removeprefix("kernel plane: "): found
            for found in map(json.loads, said.splitlines())
        }

    with network(1), Network(binary) as job:
        well = findings()
        for device in ("port0", "br0"):
            switch, said = job.start_xdp(device)
            mode = said["interfaces"][0]["mode"]
            foreseen = well[f"interface {device}"]["found"]
            expect(
                foreseen.startswith((f"{mode} mode (", f"{mode} mode,", "native mode if")),
                (foreseen, said),
            )
            stop(switch)
        expect(all(well[name]["ok"] for name in ("kernel", "BTF", "JIT", "capabilities")), well)
        limited = findings("setpriv", "--bounding-set=-sys_admin,-bpf")["capabilities"]
        expect(not limited["ok"] and limited["found"] == "this process lacks CAP_BPF", limited)
        expect("infold-switch-xdp.service" in limited["advice"], limited)


def large_packets_take_the_generic_mode(binary):
    """The switch says so. Jobs get the packet size that the program sums."""
    with network(2, "--mtu", "9000"), Network(binary) as job:
        switch, said = job.start_xdp(ports(2))
        for port in said["interfaces"]:
            expect(port["mode"] == "generic" and "an MTU of 9000" in port["why_generic"], said)
        expect(said["datagram_bytes_max"] == 3456, said)
        expect_all_well(job.start_ranks(2, *SUMS))
        stop(switch)


def limits_are_told_to_who_joins(binary):
    with network(2), Network(binary) as job:
        switch, _ = job.start_xdp(ports(2), "--slots", "512")
        first = job.start_ranks(2, *LONG)
        wait_for_sums(first[0])
        status, said = outcome(job.start_ranks(1, *SUMS, "--job", "second")[0])
        expect(status == 1 and "the switch has 0 of 512 slots left" in said, said)
        for rank in first:
            rank.kill()
        switch.kill()


if __name__ == "__main__":
    be_alone()
    sys.exit(
        run_all(
            what_is_missing_is_said_in_one_sentence,
            the_doctor_foresees_what_the_switch_says,
            large_packets_take_the_generic_mode,
            limits_are_told_to_who_joins,
        )
    )
