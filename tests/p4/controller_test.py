#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets ranks join `infold switch --plane p4`, which programs BMv2 in a lab whose links lose and
reorder packets: all results must have the bits of the reference. Two jobs run at once. Calls that
differ end their job. A job whose rank is killed ends for the other one, and the device forgets it.
Where the environment of the Python tests exists, PyTorch must train the same model as with a switch
in user space. Then the controller is killed, and a new one takes over.

Usage: controller_test.py INFOLD

Needs root, p4c-bm2-ss, simple_switch_grpc, clang-19 and BMv2's Python modules.
docs/switches/p4.md says where these come from. Without them the test is skipped.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "lab"))
import network
import p4_device

PYTHON = ROOT / "build" / "python" / "venv" / "bin" / "python"
SKIPPED = 77
WORLD = 8
LOSS = 0.01
REORDER = 0.05
SECONDS = 120
THRIFT_PORT = 9090
TABLES = ("Sum.admission.senders", "Sum.places.places", "Address.workers")
ALONE = {name: value for name, value in os.environ.items() if not name.startswith("INFOLD_")}


def skip(reason):
    print(f"skipped: {reason}; see docs/switches/p4.md")
    sys.exit(SKIPPED)


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def print_entries():
    """Prints how many entries each of the jobs' tables has, and how many groups there are. Runs in
    the device's namespace."""
    from bm_runtime.simple_pre_lag import SimplePreLAG
    from bm_runtime.standard import Standard
    from thrift.protocol import TBinaryProtocol, TMultiplexedProtocol
    from thrift.transport import TSocket, TTransport

    transport = TTransport.TBufferedTransport(TSocket.TSocket("127.0.0.1", THRIFT_PORT))
    transport.open()
    inner = TBinaryProtocol.TBinaryProtocol(transport)
    standard = Standard.Client(TMultiplexedProtocol.TMultiplexedProtocol(inner, "standard"))
    groups = SimplePreLAG.Client(TMultiplexedProtocol.TMultiplexedProtocol(inner, "simple_pre_lag"))
    counts = {table: len(standard.bm_mt_get_entries(0, table)) for table in TABLES}
    counts["groups"] = len(json.loads(groups.bm_mc_get_entries(0))["mgrps"])
    print(json.dumps(counts))


class Lab:
    """A lab with BMv2 for its switch, and the programs in it."""

    def __init__(self, infold, folder):
        self.infold = infold
        self.folder = folder
        self.lab = network.Lab(f"infold-p4-{os.getpid()}")
        self.processes = []

    def __enter__(self):
        self.lab.up(network.Options(WORLD, loss=LOSS, reorder=REORDER, plane="p4"))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()
        self.lab.down()

    def start(self, node, *words, program=None, **variables):
        command = ["ip", "netns", "exec", self.lab.namespace(node), program or self.infold, *words]
        process = subprocess.Popen(
            command,
            text=True,
            env=ALONE | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.processes.append(process)
        return process

    def start_switch(self):
        switch = self.start(
            network.SWITCH,
            "switch",
            "--insecure",
            "--plane",
            "p4",
            "--listen",
            f"{network.address(network.SWITCH)}:7700",
            "--p4runtime",
            p4_device.P4RUNTIME,
            "--program",
            self.folder,
            "--ports",
            ",".join(str(port + 1) for port in range(WORLD + 1)),
            "--json",
        )
        said = switch.stdout.readline()
        check("listening" in said, f"no switch: {said}{switch.poll()}")
        return switch

    def start_ranks(self, nodes, *words):
        return [self.start_rank(rank, nodes, *words) for rank in range(len(nodes))]

    def start_rank(self, rank, nodes, *words):
        return self.start(
            nodes[rank],
            *words,
            "--switch",
            f"{network.address(network.SWITCH)}:7700",
            "--rank",
            str(rank),
            "--ranks",
            str(len(nodes)),
            "--job",
            f"from-{nodes[0]}",
        )

    def entries(self):
        said = subprocess.run(
            [
                "ip",
                "netns",
                "exec",
                self.lab.namespace(network.SWITCH),
                sys.executable,
                __file__,
                "--entries",
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=SECONDS,
        ).stdout
        return json.loads(said)

    def show_faults(self):
        """The links must have lost and reordered packets, or the test shows less than it says."""
        links = list(self.lab.links(self.lab.options()))
        counts = {
            f"{name} {way}": sum(link[name] for link in links if link["direction"] == way)
            for name in ("packets", "held")
            for way in ("up", "down")
        }
        counts["lost"] = sum(link["lost"] for link in links)
        check(all(counts.values()), counts)
        print(counts, flush=True)


def ended(process, status=0):
    said, log = process.communicate(timeout=SECONDS)
    check(process.returncode == status, f"status {process.returncode}: {said[-800:]}{log[-800:]}")
    return said + log


VERIFY = ("verify", "--only-adds", "--elements", "0,1,100", "--deadline", "120", "--json")


def results_are_those_of_the_reference(lab):
    for nodes in (range(2), range(4), range(WORLD)):
        for rank in lab.start_ranks(list(nodes), *VERIFY):
            ended(rank)  # with status 0, or a result differs
    lab.show_faults()


def two_jobs_run_at_once(lab):
    for rank in [*lab.start_ranks([0, 1, 2], *VERIFY), *lab.start_ranks([3, 4], *VERIFY)]:
        ended(rank)


def nothing_is_left(lab):
    deadline = time.monotonic() + SECONDS
    while (counts := lab.entries()) != {**dict.fromkeys(TABLES, 0), "groups": 1}:
        check(time.monotonic() < deadline, counts)
        time.sleep(0.2)


def calls_that_differ_end_the_job_of_all(lab):
    """One rank sums another size. Two of the others would complete the chunk without it."""
    for _ in range(3):
        ranks = [
            lab.start_rank(
                rank,
                [0, 1, 2],
                "bench",
                "allreduce",
                "--bytes",
                size,
                "--dtype",
                "i32",
                "--iterations",
                "1000000",
                "--deadline",
                "120",
            )
            for rank, size in enumerate(("3KB", "4KB", "3KB"))
        ]
        for rank in ranks:
            said = ended(rank, 1)
            check("1000 elements" in said and "750 elements" in said, said)


def a_killed_rank_ends_its_job_alone(lab):
    calls = (
        "bench",
        "allreduce",
        "--bytes",
        "4KB",
        "--dtype",
        "i32",
        "--iterations",
        "1000000",
        "--deadline",
        "120",
    )
    job = lab.start_ranks([0, 1], *calls)
    other = lab.start_ranks([2, 3], *VERIFY)
    deadline = time.monotonic() + SECONDS
    while lab.entries()["Address.workers"] < 4:  # all have sent a packet
        check(time.monotonic() < deadline, "the ranks did not begin")
        time.sleep(0.2)
    job[1].send_signal(signal.SIGKILL)
    check("rank 1" in ended(job[0], 1), "the other rank does not name it")
    for rank in other:
        ended(rank)
    nothing_is_left(lab)


def trained(lab, port):
    """Returns the digests of the ranks' models."""
    ranks = [
        lab.start(
            rank,
            "tests/p4/train.py",
            program=PYTHON,
            RANK=str(rank),
            WORLD_SIZE="3",
            MASTER_ADDR=network.address(0),
            MASTER_PORT=str(29500 + port % 100),
            GLOO_SOCKET_IFNAME="eth0",
            INFOLD_WIRE="digits",
            INFOLD_SWITCHES=f"{network.address(network.SWITCH)}:{port}",
        )
        for rank in range(3)
    ]
    return {ended(rank).split()[0] for rank in ranks}


def pytorch_trains_through_it(lab):
    if not PYTHON.exists():
        print("no environment of the Python tests: PyTorch is left out")
        return
    # The pipeline forwards packets that are not for its own port.
    address = f"{network.address(network.SWITCH)}:7801"
    other = lab.start(network.SWITCH, "switch", "--insecure", "--listen", address)
    other.stdout.readline()
    models = trained(lab, 7700) | trained(lab, 7801)
    check(len(models) == 1, models)
    other.send_signal(signal.SIGINT)
    ended(other)


def a_new_controller_takes_over(lab, switch):
    job = lab.start_ranks([0, 1], "bench", "allreduce", "--bytes", "4KB", "--iterations", "1000000")
    job[0].stdout.readline()
    switch.kill()
    for rank in job:
        ended(rank, 1)
    switch = lab.start_switch()
    nothing_is_left(lab)
    for rank in lab.start_ranks([0, 1], *VERIFY):
        ended(rank)
    switch.send_signal(signal.SIGINT)
    ended(switch)


def main():
    if sys.argv[1] == "--entries":
        print_entries()
        return
    for program in ("p4c-bm2-ss", p4_device.PROGRAM, "clang-19"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed")
    if os.geteuid() != 0:
        skip("a lab needs root")
    try:
        import bm_runtime  # noqa: F401  is it installed?
        import thrift  # noqa: F401  is it installed?
    except ImportError as missing:
        skip(f"no module {missing.name} of BMv2")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                "p4c-bm2-ss",
                "--Wdisable",
                "-I",
                "planes/p4/pipeline",
                "--p4runtime-files",
                f"{folder}/infold.p4info.bin",
                "-o",
                f"{folder}/infold.json",
                "planes/p4/pipeline/targets/v1model/infold.p4",
            ],
            cwd=ROOT,
            check=True,
        )
        with Lab(sys.argv[1], folder) as lab:
            switch = lab.start_switch()
            for test in (
                results_are_those_of_the_reference,
                two_jobs_run_at_once,
                nothing_is_left,
                calls_that_differ_end_the_job_of_all,
                nothing_is_left,
                a_killed_rank_ends_its_job_alone,
                pytorch_trains_through_it,
            ):
                test(lab)
                print(f"{test.__name__}: ok", flush=True)
            a_new_controller_takes_over(lab, switch)


if __name__ == "__main__":
    main()
